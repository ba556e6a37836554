import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { findAllowed } from '../records/find-allowed.ts';
import { scopeContext } from '../records/scope-context.ts';
import { parseRule } from '../rules/parse-rule.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/** Throws forbidden when the collection's rule does not let this account sign in. Superusers pass every rule. */
export async function requireSignInAllowed(
  instance: Instance,
  facts: RequestFacts,
  { collection, id }: { readonly collection: AuthCollection; readonly id: string },
): Promise<void> {
  const { authRule } = collection.auth;
  if (authRule === '' || facts.caller.kind === 'superuser') return;
  if (authRule !== null) {
    const asked = { rule: parseRule(authRule), context: scopeContext(instance, facts) };
    if ((await findAllowed(instance.database, { collection, id }, asked)) !== undefined) return;
  }
  throw new AppError('forbidden', "The request doesn't satisfy the collection requirements to authenticate.");
}
