import { useSyncExternalStore } from 'react';
import type { KeyScope } from './keys.ts';
import { client, expired, orFailure } from './client.ts';
import type { Schemas } from './schema.ts';

/** The collection of those who may use the dashboard. */
export const superusers = '_superusers';

/** The id of that collection, which is the same in every instance. */
export const superusersId = 'pbc_3142635823';

/** Somebody signed in: a superuser, or whoever has an API key or has opened a portal link. */
export interface Session {
  readonly id: string;
  /** The address of the superuser, the name of the key, or `Portal`. */
  readonly label: string;
  /** What the key or the portal may do; undefined for superusers, who may do everything. */
  readonly key: KeyBounds | undefined;
}

/** What an API key may do, and which collections and endpoints it reaches: null for all. As `GET /api/keys/current` says. */
export type KeyBounds = Pick<Schemas['ApiKey'], 'scopes' | 'collections' | 'endpoints' | 'expires'>;

/** True as long as a token is there that has not expired by the clock of this machine. When a key expires, the service says. */
export function isSignedIn(): boolean {
  const { token, isValid, isSuperuser } = client.authStore;
  return isKey(token) || (isValid && isSuperuser);
}

function isKey(token: string): boolean {
  return /^c[kp]_/.test(token);
}

/** Whether a portal link has signed in. */
export function isPortal(): boolean {
  return client.authStore.token.startsWith('cp_');
}

/** Whether who is signed in may do what a scope covers. The service decides; this is for what is shown. */
export function mayUse(scope: KeyScope): boolean {
  const scopes = currentSession()?.key?.scopes;
  return scopes === undefined || scopes.includes(scope) || scopes.includes('admin');
}

/** Whether who is signed in may change endpoints and send webhooks again. What would be refused is not offered. */
export function mayChangeWebhooks(): boolean {
  return mayUse('webhooks:write');
}

/** Whether an API key is for some endpoints alone: somebody who receives webhooks looks after their own. */
export function isBoundToEndpoints(): boolean {
  return (currentSession()?.key?.endpoints ?? null) !== null;
}

/** Whether the screen of a record is there for who is signed in. */
export function mayOpenRecords(): boolean {
  return mayUse('records:read') && mayUse('collections:read');
}

let shown: { readonly token: string; readonly session: Session | undefined } = {
  token: '',
  session: undefined,
};

/** The same value as long as the token is the same, as React compares values by identity. */
export function currentSession(): Session | undefined {
  const { token, record } = client.authStore;
  if (shown.token === token) return shown.session;
  const session = record === null || token === '' ? undefined : toSession(token, record);
  shown = { token, session };
  return session;
}

function toSession(token: string, record: Readonly<Record<string, unknown>>): Session {
  const { id, email, name } = record;
  const label = isKey(token) ? name : email;
  // Saved by `saveKey`, with the members that the service has answered.
  // What the browser has kept of an older version lacks the endpoints.
  const key = isKey(token) ? ({ endpoints: null, ...record } as unknown as KeyBounds) : undefined;
  return { id: String(id), label: typeof label === 'string' ? label : '', key };
}

export function useSession(): Session | undefined {
  return useSyncExternalStore((onChange) => client.authStore.onChange(onChange), currentSession);
}

const ownPortalPath = '/api/webhooks/portal-links/current';

export function signOut(): void {
  const { token } = client.authStore;
  // Where it does not arrive, the session ends an hour after its last request.
  if (isPortal())
    void orFailure(
      client.send(ownPortalPath, { method: 'DELETE', headers: { Authorization: token }, keepalive: true }),
    ).catch(() => undefined);
  client.authStore.clear();
}

export type SignInMeans = 'password' | 'key' | 'portal';

/** Forgets a token that the service takes no more, and says so once, and how its bearer had signed in. Returns what stops it. */
export function onExpired(work: (means: SignInMeans) => void): () => void {
  const forget = (): void => {
    const { token } = client.authStore;
    if (token === '') return;
    const means = isPortal() ? 'portal' : isKey(token) ? 'key' : 'password';
    client.authStore.clear();
    work(means);
  };
  expired.addEventListener('expired', forget);
  return () => expired.removeEventListener('expired', forget);
}

/** Gets a new token for one that is still good, so that who works every day need not sign in again. */
export async function refreshSession(): Promise<void> {
  const { token } = client.authStore;
  if (isPortal()) await savePortal(token);
  else if (isKey(token)) await saveKey(token);
  else await orFailure(client.collection(superusers).authRefresh());
}

/** Keeps an API key with what it may do. Throws Failure for one that is not valid. */
export async function saveKey(key: string): Promise<void> {
  const headers = { Authorization: key };
  const answer = await orFailure(client.send<Schemas['ApiKey']>('/api/keys/current', { headers }));
  // The store of the SDK keeps a record beside the token; that of a key is what the key may do.
  client.authStore.save(key, { ...answer, collectionId: '', collectionName: '' });
}

/** Keeps the session of a portal with what it may do. Throws Failure for one that has ended. */
export async function savePortal(token: string): Promise<void> {
  const headers = { Authorization: token };
  const { id, scopes, endpoints, ends } = await orFailure(
    client.send<Schemas['PortalSession']>(ownPortalPath, { headers }),
  );
  const bounds: KeyBounds = { scopes, collections: null, endpoints, expires: ends };
  client.authStore.save(token, { id, name: 'Portal', ...bounds, collectionId: '', collectionName: '' });
}
