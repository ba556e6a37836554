import type { RuleInput } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import { type JsonObject, ownMember } from '../base/json.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { superusersName } from '../collections/collection.ts';
import { fieldError, invalidValue, unknownMembers } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import type { Actor } from '../logs/audit-entry.ts';
import { findRecord } from '../records/find-record.ts';
import { digest, newSecretText } from '../secrets/digest.ts';
import { limit, sql } from '../sql/sql.ts';
import { withAuthCollection } from './auth-collection.ts';
import type { SignedIn } from './finish-sign-in.ts';
import { issueToken } from './tokens.ts';

const signInLinkLimits = {
  tokenMs: 5 * 60_000,
  /** Tokens valid at once, of one instance. */
  tokensMax: 100,
} as const;

/** What signs a superuser in once. It must be shown now, as only its digest is stored. */
export interface SignInLink {
  readonly token: string;
  readonly expires: Timestamp;
  /** The address of the superuser. */
  readonly email: string;
}

/**
 * Issues a token that signs a superuser in once, within five minutes: the one with the `email` of the body, or the first one. It begins with the
 * id of the superuser. Throws bad_request.
 */
export async function issueSignInLink(
  instance: Instance,
  body: JsonObject,
  actor: Actor,
): Promise<SignInLink> {
  const { database, clock, audit } = instance;
  const { id, email } = await findSuperuser(instance, body);
  const token = `${id}${newSecretText()}`;
  const expires = clock.now() + signInLinkLimits.tokenMs;
  await database.write(async (tx) => {
    const { names } = tx;
    const table = names.table('$setup_token');
    await tx.run(sql`
      DELETE FROM ${table} WHERE ${names.instance.condition} AND (expires <= ${clock.now()} OR digest IN (
        SELECT digest FROM ${table} WHERE ${names.instance.condition}
        ORDER BY expires DESC LIMIT ${signInLinkLimits.tokensMax} OFFSET ${signInLinkLimits.tokensMax - 1}))`);
    await tx.run(sql`
      INSERT INTO ${table} (${names.instance.column}digest, expires)
      VALUES (${names.instance.value}${linkDigest(token)}, ${expires})`);
    const collection = instance.collections.get(superusersName).id;
    await audit.append(tx, actor, { action: 'impersonate', collection, target: id });
  });
  return { token, expires: toTimestamp(expires), email };
}

/** No token of a set-up has such a digest: neither can be used as the other, though they share a table. */
function linkDigest(token: string): string {
  return digest(`sign-in link ${token}`);
}

async function findSuperuser(
  { database }: Instance,
  body: JsonObject,
): Promise<{ readonly id: string; readonly email: string }> {
  const details = { ...unknownMembers(body, ['email']) };
  const email = ownMember(body, 'email');
  if (email !== undefined && typeof email !== 'string')
    details['email'] = fieldError('validation_unsupported_value_type');
  const table = database.names.collectionTable(superusersName);
  const condition = typeof email === 'string' ? sql`email = ${email}` : sql`TRUE`;
  const [row] = await database.tuples(
    sql`SELECT id, email FROM ${table} WHERE ${condition} ORDER BY "$position"${limit(1)}`,
  );
  if (row === undefined) details['email'] ??= invalidValue('The instance has no such superuser.');
  if (row === undefined || Object.keys(details).length > 0)
    throw new AppError('bad_request', 'Failed to issue a sign-in.', { details });
  return { id: String(row[0]), email: String(row[1]) };
}

const TOKEN = /^([0-9a-z]{15})[0-9A-Za-z]{43}$/;

/** Signs in with a token of {@link issueSignInLink}, which is used up. Throws forbidden, the same for one that is wrong, expired or used. */
export async function signInWithLink(
  instance: Instance,
  input: RuleInput,
  body: JsonObject,
): Promise<SignedIn> {
  const { database, clock, audit } = instance;
  const collectionId = instance.collections.get(superusersName).id;
  const member = ownMember(body, 'token');
  const [token, id] = TOKEN.exec(typeof member === 'string' ? member : '') ?? [];
  const isUsed =
    token !== undefined &&
    (await database.write(async (tx) => {
      const { names } = tx;
      const deleted = await tx.run(sql`
        DELETE FROM ${names.table('$setup_token')}
        WHERE ${names.instance.condition} AND digest = ${linkDigest(token)} AND expires > ${clock.now()}`);
      if (deleted > 0) {
        const entry = { action: 'sign-in', collection: collectionId, target: id ?? '' } as const;
        await audit.append(tx, input, { ...entry, details: { method: 'link' } });
      }
      return deleted > 0;
    }));
  if (!isUsed || id === undefined) {
    const entry = { action: 'sign-in', outcome: 'refused', collection: collectionId } as const;
    audit.note(input, { ...entry, details: { reason: 'link' } });
    throw refusal();
  }
  return withAuthCollection(instance, superusersName, async (collection) => {
    const record = await findRecord(database, collection, id);
    if (record === undefined) throw refusal();
    const claims = { refreshable: true };
    return {
      record,
      collection,
      token: await issueToken(instance, { collection, id, kind: 'authToken', claims }),
    };
  });
}

function refusal(): AppError {
  return new AppError('forbidden', 'The sign-in link is not valid, has expired or was used.');
}
