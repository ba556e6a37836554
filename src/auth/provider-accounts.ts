import { shareOf } from '../access/rule-input.ts';
import { AppError, conflicting } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { ProviderUser } from '../providers/read-user.ts';
import { changeAccount } from '../records/change-account.ts';
import { createRecord, type PreparedCreate, prepareCreate } from '../records/create-record.ts';
import { findRecord, findRecordToChange } from '../records/find-record.ts';
import { refusedAs, type WriteRequest, type WriteScope } from '../records/record-write.ts';
import { type StoredRecord, valueOf } from '../records/record.ts';
import { newTokenKey } from '../secrets/token.ts';
import { sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import { getCompanion, saveAccountRow } from './account-rows.ts';
import type { AuthCollection } from './auth-collection.ts';
import type { SignInProof } from './finish-sign-in.ts';
import { newAccountBody, type PictureSource } from './new-account-body.ts';
import { isIdentity } from './sign-in.ts';
import { findTokenKey } from './tokens.ts';

/** How often an account is looked for while others change it. */
const triesMax = 3;
/** Links of one account; it has one for each provider of its collection at most. */
const linksMax = 50;

export interface ProviderUserRequest extends PictureSource {
  readonly collection: AuthCollection;
  /** The name of the provider. */
  readonly provider: string;
  readonly user: ProviderUser;
  /** What the client sends for a new account. */
  readonly createData: JsonObject;
}

export interface AdmittedUser extends Pick<SignInProof, 'record' | 'tokenKey'> {
  readonly isNew: boolean;
}

/** Whose account a user of a provider is: `linked` to it, the caller's `own`, or one that is `joined` by its verified address. */
interface Match {
  readonly kind: 'linked' | 'own' | 'joined';
  readonly id: string;
}

/**
 * Finds the account of a provider's user, or makes one by the create rule, and links it to the user. An account that is joined by an
 * address that it had not verified gets a new password and loses its sessions and all other links: whoever signed up with
 * another's address must not stay in. Throws forbidden, bad_request, conflict.
 */
export async function admitProviderUser(
  write: WriteRequest,
  request: ProviderUserRequest,
  triesLeft = triesMax,
): Promise<AdmittedUser> {
  const lookup = { ...write, reader: write.instance.database };
  const match = await findMatch(lookup, request);
  try {
    if (match === undefined) return await makeAccount(write, request);
    return await useAccount(write, request, match);
  } catch (error) {
    // Another sign-in of the same user came first. The code is used up, so that the client could not try again.
    const isOvertaken = !isSame(match, await findMatch(lookup, request));
    if (triesLeft === 1 || !isOvertaken) throw error;
    return admitProviderUser(write, request, triesLeft - 1);
  }
}

async function useAccount(
  { instance, input }: WriteRequest,
  request: ProviderUserRequest,
  match: Match,
): Promise<AdmittedUser> {
  const account = await findRecord(instance.database, request.collection, match.id);
  const isTakenOver = match.kind === 'joined' && account !== undefined && !isVerified(account);
  const share = shareOf(instance.id, input);
  // A random password, which nobody knows.
  const passwordHash = isTakenOver ? await instance.passwords.hash(newTokenKey(), share) : undefined;
  return instance.database.write(async (tx) => {
    if (!isSame(match, await findMatch({ instance, input, reader: tx }, request))) throw conflicting();
    return enterAccount({ instance, input, tx }, request, { match, passwordHash });
  });
}

function isSame(one: Match | undefined, other: Match | undefined): boolean {
  return one?.kind === other?.kind && one?.id === other?.id;
}

interface Lookup extends WriteRequest {
  readonly reader: Reader;
}

async function findMatch(
  { instance, input, reader }: Lookup,
  { collection, provider, user }: ProviderUserRequest,
): Promise<Match | undefined> {
  const { names } = reader;
  const links = names.collectionTable(getCompanion(instance, '_externalAuths').name);
  const [link] = await reader.tuples(sql`
    SELECT "recordRef" FROM ${links}
    WHERE "collectionRef" = ${collection.id} AND provider = ${provider} AND "providerId" = ${user.id}`);
  if (link !== undefined) return { kind: 'linked', id: String(link[0]) };
  const { caller } = input;
  if (caller.kind === 'user' && caller.collectionId === collection.id) return { kind: 'own', id: caller.id };
  if (user.email === '' || !user.isEmailVerified) return undefined;
  const hasAddress = isIdentity(instance, collection, { name: 'email', identity: user.email });
  const [row] = await reader.tuples(
    sql`SELECT id FROM ${names.collectionTable(collection.name)} WHERE ${hasAddress} AND email <> ''`,
  );
  return row === undefined ? undefined : { kind: 'joined', id: String(row[0]) };
}

async function enterAccount(
  scope: WriteScope,
  request: ProviderUserRequest,
  { match, passwordHash }: { readonly match: Match; readonly passwordHash: string | undefined },
): Promise<AdmittedUser> {
  const { instance, tx } = scope;
  const collection = instance.collections.get(request.collection.id);
  const existing = await findRecordToChange(tx, collection, match.id);
  if (existing === undefined) throw new AppError('bad_request', 'Failed to authenticate.');
  const record = await prove(scope, existing, { request, match, passwordHash });
  if (match.kind !== 'linked') await saveLink(scope, request, match.id);
  return { record, tokenKey: await tokenKeyOf(scope, record), isNew: false };
}

/** Verifies the address of an account that the provider has verified. */
async function prove(
  scope: WriteScope,
  existing: StoredRecord,
  {
    request: { user },
    match,
    passwordHash,
  }: {
    readonly request: ProviderUserRequest;
    readonly match: Match;
    readonly passwordHash: string | undefined;
  },
): Promise<StoredRecord> {
  if (match.kind === 'linked' || isVerified(existing)) return existing;
  const change = (proof: Parameters<typeof changeAccount>[2]): Promise<StoredRecord> =>
    refusedAs('Failed to authenticate.', changeAccount(scope, existing, proof));
  if (match.kind === 'own') {
    const isSame = user.isEmailVerified && user.email === valueOf(existing, 'email');
    return isSame ? change({ verified: true }) : existing;
  }
  // It lost its verification since the password was made.
  if (passwordHash === undefined) throw conflicting();
  return change({ verified: true, passwordHash });
}

function isVerified(account: StoredRecord): boolean {
  return valueOf(account, 'verified') === 1;
}

async function makeAccount(
  { instance, input }: WriteRequest,
  request: ProviderUserRequest,
): Promise<AdmittedUser> {
  const { user, collection } = request;
  await using body = await newAccountBody({ instance, input }, request);
  // For the create rule, as in any other create.
  const write = { instance, input: { ...input, body: body.values } };
  const prepared: PreparedCreate = {
    ...(await prepareCreate(write, { collection: collection.id, body: body.values })),
    ...(user.isEmailVerified && { provenEmail: user.email }),
  };
  return await body.place(() =>
    instance.database.write(async (tx) => {
      const scope = { ...write, tx };
      // Another sign-in of the same user came first.
      if ((await findMatch({ ...write, reader: tx }, request)) !== undefined) throw conflicting();
      const record = await createRecord(scope, prepared);
      await saveLink(scope, request, String(valueOf(record, 'id')));
      return { record, tokenKey: await tokenKeyOf(scope, record), isNew: true };
    }),
  );
}

/** Links the account to the user, in place of another user of the same provider. */
async function saveLink(
  { instance, tx }: WriteScope,
  { collection, provider, user }: ProviderUserRequest,
  id: string,
): Promise<void> {
  const companion = getCompanion(instance, '_externalAuths');
  await tx.run(sql`
    DELETE FROM ${tx.names.collectionTable(companion.name)}
    WHERE "collectionRef" = ${collection.id} AND "recordRef" = ${id} AND provider = ${provider}`);
  await saveAccountRow(tx, instance, {
    companion,
    account: { collectionRef: collection.id, recordRef: id },
    body: { provider, providerId: user.id },
    rowsMax: linksMax,
  });
}

async function tokenKeyOf({ instance, tx }: WriteScope, record: StoredRecord): Promise<string> {
  const use = { record: String(valueOf(record, 'id')), kind: 'authToken', reader: tx } as const;
  const key = await findTokenKey(instance, record.collection, use);
  if (key === undefined) throw new AppError('bad_request', 'Failed to authenticate.');
  return key;
}
