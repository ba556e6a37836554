import type { Caller } from './caller.ts';
import type { KeyScope } from './key-scope.ts';

/** Whether the caller has the scope. Only API keys can lack one. */
export function hasScope(caller: Caller, scope: KeyScope): boolean {
  if (caller.kind !== 'superuser' || caller.key === undefined) return true;
  const { scopes } = caller.key;
  return scopes.includes(scope) || scopes.includes('admin');
}
