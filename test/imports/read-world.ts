import PocketBase, { type CollectionModel } from 'pocketbase';
import { accounts } from './make-world.ts';

type Values = Readonly<Record<string, unknown>>;

/** All that the API of a service shows of what is to be imported. */
export interface World {
  readonly settings: Values;
  readonly collections: ReadonlyMap<string, CollectionModel>;
  readonly records: ReadonlyMap<string, readonly Values[]>;
  /** The bytes of files, in base64, by their collection, record and name. */
  readonly files: ReadonlyMap<string, string>;
  /** The names of the accounts that have signed in with their passwords. */
  readonly signedIn: readonly string[];
}

/** Sign-ins leave them, each service its own; views are read as they are computed. */
const unread: ReadonlySet<string> = new Set(['_mfas', '_otps', '_authOrigins']);

export async function readWorld(pb: PocketBase): Promise<World> {
  const collections = await pb.collections.getFullList();
  const records = new Map<string, readonly Values[]>();
  const files = new Map<string, string>();
  const token = await pb.files.getToken();
  for (const { name, fields, type } of collections) {
    if (unread.has(name) || type === 'view') continue;
    const rows = await pb.collection(name).getFullList({ sort: 'id' });
    records.set(name, rows);
    const names = fields.filter((field) => field.type === 'file').map((field) => field.name);
    for (const row of rows)
      // A field of files has the name of one, or names.
      for (const file of names.flatMap((field) => row[field] as string | readonly string[]))
        if (file !== '')
          files.set(`${name}/${row.id}/${file}`, await readFile(pb.files.getURL(row, file, { token })));
  }
  return {
    settings: await pb.settings.getAll(),
    collections: new Map(collections.map((one) => [one.name, one])),
    records,
    files,
    signedIn: await signIn(pb.baseURL),
  };
}

async function readFile(url: string): Promise<string> {
  const answer = await fetch(url);
  if (answer.status !== 200) return `${answer.status} ${await answer.text()}`;
  return Buffer.from(await answer.arrayBuffer()).toString('base64');
}

async function signIn(url: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (const { email, password } of accounts) {
    const { record } = await new PocketBase(url).collection('members').authWithPassword(email, password);
    names.push(String(record['name']));
  }
  return names;
}
