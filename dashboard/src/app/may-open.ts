import type { KeyScope } from '../api/keys.ts';
import { currentSession, mayUse } from '../api/session.ts';

/** What an API key needs to see the screens below a path; the first that fits holds. What is not here needs `admin`. */
const scopesOfPaths: readonly { readonly path: RegExp; readonly scopes: readonly KeyScope[] }[] = [
  { path: /^\/key$/, scopes: [] },
  { path: /^\/(?:webhooks|events|deliveries)(?:\/|$)/, scopes: ['webhooks:read'] },
  { path: /^\/new-collection$/, scopes: ['collections:read', 'collections:write'] },
  { path: /^\/(?:c\/[^/]+\/schema|rules|diagram)(?:\/|$)/, scopes: ['collections:read'] },
  { path: /^\/c(?:\/|$)/, scopes: ['collections:read', 'records:read'] },
];

/** Whether who is signed in may see the screen at a path. The service refuses the rest anyway; what it would refuse is not offered. */
export function mayOpen(path: string): boolean {
  if (currentSession()?.key === undefined) return true;
  const scopes = scopesOfPaths.find((one) => one.path.test(path))?.scopes ?? ['admin'];
  return scopes.every(mayUse);
}

/** Whether a key reaches the records of a collection. Those of the service itself need `admin`. */
export function mayReach({ id, system }: { readonly id: string; readonly system: boolean }): boolean {
  const key = currentSession()?.key;
  if (key === undefined || mayUse('admin')) return true;
  return !system && mayOpen('/c') && (key.collections === null || key.collections.includes(id));
}
