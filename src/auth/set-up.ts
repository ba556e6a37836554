import { auditLogOf } from '../audit/audit-log.ts';
import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { ownMember, type JsonObject } from '../base/json.ts';
import { superusersName } from '../collections/superusers-name.ts';
import type { Instance } from '../instances/instance.ts';
import { prepareCreate } from '../records/create-record.ts';
import { withCurrentDefinitions } from '../instances/with-current-definitions.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { forgetSetupTokens, isSetupToken } from './setup-token.ts';

/**
 * Makes the first superuser with a token that a start has printed. A token that is wrong, expired or used gets the same answer as a
 * valid one when there is a superuser already. Throws forbidden; bad_request with the problems of the account, only with a valid
 * token.
 */
export async function setUp(instance: Instance, facts: RequestFacts, body: JsonObject): Promise<void> {
  const { database, clock } = instance;
  const given = ownMember(body, 'token');
  const token = typeof given === 'string' ? given : '';
  try {
    const isRight = await withCurrentDefinitions(() => isSetupToken(database, token, clock.now()));
    if (!isRight) throw refusal();
    const write = await prepareSuperuser(instance, facts, body);
    await database.write(
      async (tx) => {
        if (!(await isSetupToken(tx, token, clock.now()))) throw refusal();
        await write(tx);
        await forgetSetupTokens(tx);
      },
      // Two requests with two tokens, even on two nodes, must not both find that there is no superuser.
      { isExclusive: true },
    );
  } catch (error) {
    if (error instanceof AppError && error.code === 'forbidden')
      auditLogOf(instance).note(facts, { action: 'setup', outcome: 'refused' });
    throw error;
  }
}

const members: ReadonlySet<string> = new Set(['email', 'password', 'passwordConfirm']);

/** Prepares the superuser, who is also the caller: the first entry of the audit log names it as the one who made it. */
function prepareSuperuser(
  instance: Instance,
  facts: RequestFacts,
  body: JsonObject,
): ReturnType<typeof prepareCreate> {
  const id = newId();
  const given = Object.entries(body).filter(([name]) => members.has(name));
  const account: JsonObject = { ...Object.fromEntries(given), id };
  const own: RequestFacts = { ...facts, caller: { kind: 'superuser', id }, body: account };
  return prepareCreate(instance, own, { collection: superusersName, body: account });
}

function refusal(): AppError {
  return new AppError('forbidden', 'The setup token is not valid, has expired or was used.');
}
