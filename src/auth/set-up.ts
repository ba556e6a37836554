import type { RuleInput } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { type JsonObject, ownMember } from '../base/json.ts';
import { superusersName } from '../collections/collection.ts';
import { withCurrentDefinitions } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { createRecord, prepareCreate } from '../records/create-record.ts';
import { digest, newSecretText } from '../secrets/digest.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';

/**
 * Makes the first superuser with a token that a start has printed. A token that is wrong, expired or used gets the same answer as a
 * valid one when there is a superuser already. Throws forbidden; bad_request with the problems of the account, only with a valid
 * token.
 */
export async function setUp(instance: Instance, input: RuleInput, body: JsonObject): Promise<void> {
  const { database, clock } = instance;
  const member = ownMember(body, 'token');
  const token = typeof member === 'string' ? member : '';
  try {
    const isRight = await withCurrentDefinitions(() => isSetupToken(database, token, clock.now()));
    if (!isRight) throw refusal();
    const own = superuserInput(input, body);
    const account = { collection: superusersName, body: own.body };
    const prepared = await prepareCreate({ instance, input: own }, account);
    await database.write(
      async (tx) => {
        if (!(await isSetupToken(tx, token, clock.now()))) throw refusal();
        await createRecord({ instance, input: own, tx }, prepared);
        await forgetSetupTokens(tx);
      },
      // Two requests with two tokens, even on two nodes, must not both find that there is no superuser.
      { isExclusive: true },
    );
  } catch (error) {
    if (error instanceof AppError && error.code === 'forbidden')
      instance.audit.note(input, { action: 'setup', outcome: 'refused' });
    throw error;
  }
}

const members: ReadonlySet<string> = new Set(['email', 'password', 'passwordConfirm']);

/** Returns the request with the new superuser as its caller: the first entry of the audit log names it as the one who made it. */
function superuserInput(input: RuleInput, body: JsonObject): RuleInput {
  const id = newId();
  const sent = Object.entries(body).filter(([name]) => members.has(name));
  return { ...input, caller: { kind: 'superuser', id }, body: { ...Object.fromEntries(sent), id } };
}

function refusal(): AppError {
  return new AppError('forbidden', 'The setup token is not valid, has expired or was used.');
}

export const setupLimits = {
  tokenMs: 30 * 60_000,
  /** Tokens valid at once: a server that is restarted again and again must not fill the table. */
  tokensMax: 100,
} as const;

/** Issues a token to make the first superuser with, once and within half an hour; undefined when there is a superuser. */
export function issueSetupToken(instance: Instance): Promise<string | undefined> {
  const token = newSecretText();
  const now = instance.clock.now();
  return instance.database.write(async (tx) => {
    const { names } = tx;
    const table = names.table('$setup_token');
    if (await hasSuperuser(tx)) {
      await forgetSetupTokens(tx);
      return undefined;
    }
    await tx.run(sql`
      DELETE FROM ${table} WHERE ${names.instance.condition} AND (expires <= ${now} OR digest IN (
        SELECT digest FROM ${table} WHERE ${names.instance.condition} ORDER BY expires DESC LIMIT ${setupLimits.tokensMax} OFFSET ${setupLimits.tokensMax - 1}))`);
    await tx.run(sql`
      INSERT INTO ${table} (${names.instance.column}digest, expires)
      VALUES (${names.instance.value}${digest(token)}, ${now + setupLimits.tokenMs})`);
    return token;
  });
}

/** True when the first superuser may be made with this token now. */
async function isSetupToken(reader: Reader, token: string, now: number): Promise<boolean> {
  if (await hasSuperuser(reader)) return false;
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT 1 FROM ${names.table('$setup_token')}
    WHERE ${names.instance.condition} AND digest = ${digest(token)} AND expires > ${now}`);
  return rows.length > 0;
}

/** Deletes all tokens: once there is a superuser, none is needed. */
async function forgetSetupTokens(tx: Transaction): Promise<void> {
  await tx.run(sql`DELETE FROM ${tx.names.table('$setup_token')} WHERE ${tx.names.instance.condition}`);
}

async function hasSuperuser(reader: Reader): Promise<boolean> {
  const table = reader.names.collectionTable(superusersName);
  return (await reader.tuples(sql`SELECT 1 FROM ${table} LIMIT 1`)).length > 0;
}
