import { type RuleInput, shareOf } from '../access/rule-input.ts';
import type { Share } from '../base/fair-line.ts';
import { AppError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { isIdentityIndex } from '../collections/index-definition.ts';
import { fieldError } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import { callerOf } from '../instances/token-secrets.ts';
import { ProviderFailure } from '../providers/provider-requests.ts';
import { findRecord } from '../records/find-record.ts';
import { type StoredRecord, valueOf } from '../records/record.ts';
import { readSecret, type SecretKey } from '../secrets/secrets.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import { decodeForm, lengthProblem, refuseForm } from './account-request.ts';
import { type AuthCollection, withAuthCollection } from './auth-collection.ts';
import { finishSignIn, requireMethod, type SignInResult } from './finish-sign-in.ts';
import { findTokenKey } from './tokens.ts';

const identityLengthMax = 255;
const passwordBytesMax = 512;

export interface PasswordSignIn {
  readonly collection: string;
  /** Runs the sign-in unless too many were wrong. `account` is the id of the account, undefined for none. */
  readonly guard: (
    credentials: { readonly identity: string; readonly account: string | undefined },
    run: () => Promise<SignInResult>,
  ) => Promise<SignInResult>;
}

/**
 * Signs in a record of an auth collection by identity and password. An unknown identity costs the same work and gets the same
 * answer as a wrong password. Throws not_found (no auth collection), forbidden (switched off, or the collection's rule),
 * bad_request, and what the guard throws.
 */
export function signIn(
  instance: Instance,
  input: RuleInput,
  { collection: collectionName, guard }: PasswordSignIn,
): Promise<SignInResult> {
  return withAuthCollection(instance, collectionName, async (collection) => {
    const { passwordAuth } = collection.auth;
    requireMethod(collection, 'password');
    const { password, ...credentials } = decodeCredentials(input.body, passwordAuth.identityFields);
    const record = await findByIdentity(instance, collection, credentials);
    const account = record && String(valueOf(record, 'id'));
    // Audited inside: a guard that refuses has audited that itself.
    return guard({ identity: credentials.identity, account }, () =>
      recordSignIn(instance, { input, collection, id: account ?? '' }, () =>
        checkPassword(instance, input, { collection, record, password }),
      ),
    );
  });
}

interface PasswordAttempt {
  readonly collection: AuthCollection;
  /** Undefined when there is no such account. */
  readonly record: StoredRecord | undefined;
  readonly password: string;
}

async function checkPassword(
  instance: Instance,
  input: RuleInput,
  { collection, record, password }: PasswordAttempt,
): Promise<SignInResult> {
  const id = record === undefined ? '' : String(valueOf(record, 'id'));
  // Read before the password: a change of the password in between then ends the session that is begun here as well.
  const tokenKey = await findTokenKey(instance, collection, { record: id, kind: 'authToken' });
  const key = { collection: collection.id, record: id, name: 'password' };
  const hash = record === undefined ? undefined : await readSecret(instance.database, key);
  const share = shareOf(instance.id, input);
  const isRight = await instance.passwords.verify(password, hash, share);
  if (!isRight || record === undefined || hash === undefined || tokenKey === undefined)
    throw new AppError('bad_request', 'Failed to authenticate.');
  if (instance.passwords.needsRehash(hash)) await strengthen(instance, key, { hash, password, share });
  return finishSignIn(instance, input, { record, method: 'password', tokenKey });
}

interface Credentials {
  readonly identity: string;
  readonly password: string;
  /** The fields to look in: the one that the client names, or all configured ones. */
  readonly fields: readonly string[];
}

function decodeCredentials(body: JsonObject, configured: readonly string[]): Credentials {
  const form = decodeForm(body, ['identity', 'password', 'identityField']);
  const { password, identityField } = form;
  const identity = form.identity.trim();
  const fields = identityField === '' ? configured : configured.filter((name) => name === identityField);
  refuseForm({
    identity: lengthProblem(identity.length, identityLengthMax),
    password: lengthProblem(Buffer.byteLength(password), passwordBytesMax),
    identityField: fields.length === 0 ? fieldError('validation_in_invalid') : undefined,
  });
  return { identity, password, fields };
}

/** Hashes the password again at the current cost, and stores that only if the password was not changed meanwhile. */
async function strengthen(
  instance: Instance,
  key: SecretKey,
  { hash, password, share }: { readonly hash: string; readonly password: string; readonly share: Share },
): Promise<void> {
  const stronger = await instance.passwords.hash(password, share);
  await instance.database.write((tx) =>
    tx.run(sql`
      UPDATE ${tx.names.table('$secret')} SET value = ${stronger}
      WHERE ${tx.names.instance.condition} AND collection = ${key.collection} AND record = ${key.record} AND name = ${key.name} AND value = ${hash}`),
  );
}

export interface Identity {
  readonly identity: string;
  /** The fields to look in. */
  readonly fields: readonly string[];
}

/**
 * Finds the account with this identity. Without one, finds the account that has it in another letter case, unless several have. Only
 * the case of ASCII letters is ignored, on both engines.
 */
export async function findByIdentity(
  instance: Instance,
  collection: AuthCollection,
  credentials: Identity,
): Promise<StoredRecord | undefined> {
  const exact = await findByExactIdentity(instance, collection, credentials);
  if (exact !== undefined) return exact;
  const { database } = instance;
  const table = database.names.collectionTable(collection.name);
  const folded = credentials.fields.map((name) => {
    const column = database.names.column(name);
    return sql`SELECT id FROM ${table} WHERE ${database.names.dialect.equalsFolded(column, credentials.identity)} AND ${column} <> ''`;
  });
  const select = sql`SELECT DISTINCT id FROM (${joinSql(folded, ' UNION ALL ')}) AS found LIMIT 2`;
  const [row, another] = await database.tuples(select);
  if (row === undefined || another !== undefined) return undefined;
  return findRecord(database, collection, String(row[0]));
}

/**
 * Finds the account with exactly this identity: first by address, then by the other fields in their order. In any other order, somebody
 * whose user name is another's address would be found in place of that account.
 */
export async function findByExactIdentity(
  instance: Instance,
  collection: AuthCollection,
  { identity, fields }: Identity,
): Promise<StoredRecord | undefined> {
  const { database } = instance;
  const table = database.names.collectionTable(collection.name);
  const ordered = fields.toSorted((one, other) => Number(other === 'email') - Number(one === 'email'));
  for (const name of ordered) {
    const [row] = await database.tuples(
      sql`SELECT id FROM ${table} WHERE ${isIdentity(instance, collection, { name, identity })} AND ${database.names.column(name)} <> ''`,
    );
    if (row !== undefined) return findRecord(database, collection, String(row[0]));
  }
  return undefined;
}

/** A condition that compares as the field's unique index does: values that the index takes for equal are one identity. */
export function isIdentity(
  { database: { names } }: Instance,
  { indexes }: AuthCollection,
  { name, identity }: { readonly name: string; readonly identity: string },
): Sql {
  const column = names.column(name);
  const isNocase = indexes.some(
    (index) => isIdentityIndex(index, name) && index.columns[0]?.isNocase === true,
  );
  if (!isNocase) return sql`${column} = ${identity}`;
  // Only the case of ASCII letters is ignored, on both engines.
  return names.dialect.equalsFolded(column, identity);
}

/** The account that a client tries to sign in to. */
export interface SignInAccount {
  readonly input: RuleInput;
  readonly collection: AuthCollection;
  /** Id of the record; empty when there is no such account, or none is known yet. */
  readonly id: string;
}

/** Runs a sign-in and audits its outcome; the sign-in does not wait for the audit log. */
export async function recordSignIn(
  instance: Instance,
  { input, collection, id }: SignInAccount,
  signIn: () => Promise<SignInResult>,
): Promise<SignInResult> {
  const audit = instance.audit;
  const entry = { action: 'sign-in', collection: collection.id, target: id } as const;
  try {
    const result = await signIn();
    if (result.kind === 'signed in') {
      const target = String(valueOf(result.signedIn.record, 'id'));
      audit.note({ ...input, caller: callerOf(collection, target) }, { ...entry, target });
    } else audit.note(input, { ...entry, outcome: 'refused', details: { reason: result.kind } });
    return result;
  } catch (error) {
    const reason = error instanceof AppError ? reasonOf(error) : undefined;
    if (reason !== undefined) audit.note(input, { ...entry, outcome: 'refused', details: { reason } });
    throw error;
  }
}

/** The audit log says why a provider failed; the client is not told. */
function reasonOf({ cause, code, explanation }: AppError): string | undefined {
  return cause instanceof ProviderFailure ? explanation : refusals.get(code);
}

const refusals: ReadonlyMap<string, string> = new Map([
  ['bad_request', 'credentials'],
  ['forbidden', 'rule'],
  ['too_many_requests', 'too many'],
]);
