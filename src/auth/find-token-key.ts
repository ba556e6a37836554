import { assert } from '../base/assert.ts';
import type { TokenKind } from '../collections/auth-options.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { tokenSecretPlace } from '../instances/token-secrets.ts';
import { runTogether, sql } from '../sql/sql.ts';
import { AnswerMemory } from '../storage/answer-memory.ts';
import type { Reader } from '../storage/database.ts';

export interface TokenUse {
  /** The id of the record that the token belongs to. */
  readonly record: string;
  readonly kind: TokenKind;
  /** Where to read: inside a transaction it must be the transaction, as nothing else may be awaited there. */
  readonly reader?: Reader;
}

/** The keys that are known, of all instances of this process. */
const knownKeys = new AnswerMemory<string | undefined>({
  lengthMax: 1024 * 1024,
  lengthOf: (key) => key?.length ?? 0,
});

/** Opened secrets by their sealed texts: opening one is costly, and every request with a token needs one. */
const opened = new WeakMap<Instance, Map<string, string>>();
/** Far more than an instance has auth collections. A full map is simply emptied, which saves keeping an order of use. */
const openedMax = 5_000;

/**
 * Returns the key that signs and verifies a record's tokens of one kind: the record's own token key followed by its collection's
 * secret; undefined when the record is gone. The answer always matches the database: a changed password ends the record's sessions
 * at once, and a renewed secret those of the whole collection, on every node.
 */
export async function findTokenKey(
  instance: Instance,
  collection: Collection,
  { record, kind, reader = instance.database }: TokenUse,
): Promise<string | undefined> {
  const { database } = instance;
  const use = { record, kind, reader };
  if (reader !== database) return readTokenKey(instance, collection, use);
  return knownKeys.recall({ database }, `${instance.id}/${collection.id}/${record}/${kind}`, async () => {
    const answer = await readTokenKey(instance, collection, use);
    return { answer, isLasting: answer !== undefined };
  });
}

async function readTokenKey(
  instance: Instance,
  collection: Collection,
  { record, kind, reader }: Required<TokenUse>,
): Promise<string | undefined> {
  const { names } = reader;
  const table = names.table('$secret');
  // A join of two rows by their full keys and not `IN (…)`, for which SQLite would build a table each time.
  const select = sql`
    SELECT own.value, shared.value FROM ${table} AS own
    LEFT JOIN ${table} AS shared ON ${names.scopeOf('shared')} AND shared.collection = ${collection.id} AND shared.record = '' AND shared.name = ${kind}
    WHERE ${names.scopeOf('own')} AND own.collection = ${collection.id} AND own.name = 'tokenKey' AND own.record = ${record}`;
  const [row] = await reader.tuples(runTogether(select, 'lookup'));
  if (row === undefined) return undefined;
  const [own, sealed] = row;
  assert(typeof sealed === 'string', `the auth collection ${collection.name} has a secret for its ${kind}`);
  return String(own) + openSecret(instance, collection, { kind, sealed });
}

function openSecret(
  instance: Instance,
  collection: Collection,
  { kind, sealed }: { readonly kind: TokenKind; readonly sealed: string },
): string {
  let known = opened.get(instance);
  if (known === undefined || known.size >= openedMax)
    opened.set(instance, (known = new Map<string, string>()));
  const found = known.get(sealed);
  if (found !== undefined) return found;
  const secret = instance.sealer.open(sealed, tokenSecretPlace(collection.id, kind));
  known.set(sealed, secret);
  return secret;
}
