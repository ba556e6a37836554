import PocketBase from 'pocketbase';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningChancery, start } from '../../src/start.ts';

export const superuser = { email: 'root@example.com', password: 'correct horse' };

export interface Stage extends AsyncDisposable {
  readonly url: string;
  /** The files of both documents: that of any service, and that of an instance with its collections. */
  readonly documents: { readonly service: string; readonly instance: string };
  /** How many posts there are. */
  countPosts(): Promise<number>;
}

const text = { name: 'title', type: 'text', required: true };

/** What each round trip reads. */
export const answersOfRoundTrip = {
  listed: 1,
  total: 1,
  title: 'Hello',
  views: 7,
  kind: 'b',
  refused: { title: { code: 'validation_required', message: 'Cannot be blank.' } },
  status: 404,
};

/** Fields of every type, among them values and names that are none in some language. */
export const posts = [
  text,
  { name: 'views', type: 'number', onlyInt: true, min: 1, max: 1_000 },
  { name: 'kind', type: 'select', values: ['a', 'b', 'B', '+1', '-1', 'ü', '日本'] },
  { name: 'tags', type: 'select', values: ['x', 'y z'], maxSelect: 2 },
  { name: 'agreed', type: 'bool' },
  { name: 'mail', type: 'email' },
  { name: 'site', type: 'url' },
  { name: 'body', type: 'editor' },
  { name: 'due', type: 'date' },
  { name: 'seen', type: 'autodate', onCreate: true },
  { name: 'picture', type: 'file' },
  { name: 'files', type: 'file', maxSelect: 3 },
  { name: 'meta', type: 'json' },
  { name: 'where', type: 'geoPoint' },
  { name: 'class', type: 'text' },
  { name: 'from', type: 'text' },
  { name: 'import', type: 'number' },
];

/** Names that generators change to the same one, or to one that they use themselves. */
const names = ['_users', 'post_s', '1st', 'c1st', 'Any', 'Record', 'class', 'error', 'ByAlias', 'mail'];

/** Starts a service with collections that are hard on generators, and writes its documents. */
export async function setStage(folder: string): Promise<Stage> {
  const chancery = await start({ data: join(folder, 'data'), port: 0, logLevel: 'error', superuser });
  const client = new PocketBase(chancery.url).autoCancellation(false);
  await client.collection('_superusers').authWithPassword(superuser.email, superuser.password);
  const { id: users } = await client.collections.getOne('users');
  const relations = [
    { name: 'author', type: 'relation', collectionId: users },
    { name: 'readers', type: 'relation', collectionId: users, maxSelect: 9, minSelect: 2 },
  ];
  await client.collections.create({ name: 'posts', fields: [...posts, ...relations] });
  for (const name of names) await client.collections.create({ name, fields: [text] });
  await client.collections.create({ name: 'titles', type: 'view', viewQuery: 'SELECT id, title FROM posts' });
  return {
    url: chancery.url,
    documents: {
      service: await writeDocument(join(folder, 'service.json'), chancery, ''),
      instance: await writeDocument(join(folder, 'instance.json'), chancery, client.authStore.token),
    },
    countPosts: async () => (await client.collection('posts').getList(1, 1)).totalItems,
    [Symbol.asyncDispose]: () => chancery.stop(),
  };
}

async function writeDocument(file: string, { url }: RunningChancery, token: string): Promise<string> {
  const answer = await fetch(`${url}/api/openapi.json`, { headers: { authorization: token } });
  writeFileSync(file, await answer.text());
  return file;
}
