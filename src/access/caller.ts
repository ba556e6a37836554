import { AppError } from '../base/errors.ts';

/** Who makes a request, found from its credentials. Operations decide by nothing else. */
export type Caller = Guest | User | Superuser;

export interface Guest {
  readonly kind: 'guest';
}

/** A record of an auth collection. */
export interface User {
  readonly kind: 'user';
  readonly id: string;
  readonly collectionId: string;
  /** Ids of its own endpoints of webhooks, in the routes for them; absent elsewhere, and where accounts of its collection may have none. */
  readonly endpoints?: readonly string[];
  /** The id of the portal link whose session acts for the account, in the routes for its endpoints alone. */
  readonly portal?: string;
}

export interface Superuser {
  readonly kind: 'superuser';
  /** The id of the record in `_superusers`, or of the API key; empty for the operator. */
  readonly id: string;
  /** Set for the command line, which has the data itself: no sign-in took place. */
  readonly isOperator?: true;
  /** The bounds of an API key, which acts as a superuser within them; absent for superusers themselves. */
  readonly key?: KeyBounds;
}

/** What an API key may be used for (http-api A10). Checked by `hasScope`, `reaches` and `reachesEndpoint`. */
export interface KeyBounds {
  readonly scopes: readonly KeyScope[];
  /** Ids of the collections whose records it reaches; null for all except system collections. */
  readonly collections: readonly string[] | null;
  /** Ids of the only endpoints of webhooks that it reaches, without deleted ones; null for all. */
  readonly endpoints: readonly string[] | null;
  /** Set for the session of a portal link. */
  readonly portal?: PortalBounds;
}

/** The session of a portal link is bound to endpoints like an API key, or to those of an account. */
export interface PortalBounds {
  /** The account whose endpoints it reaches: those that exist at the time of each request. */
  readonly owner?: Pick<User, 'collectionId' | 'id'>;
}

export const guest: Guest = { kind: 'guest' };
export const operator: Superuser = { kind: 'superuser', id: '', isOperator: true };
/** The scopes of API keys. `admin` includes all the others, and everything that none of them covers. */
export const keyScopes = [
  'records:read',
  'records:write',
  'webhooks:read',
  'webhooks:write',
  'collections:read',
  'collections:write',
  'metrics',
  'admin',
] as const;

export type KeyScope = (typeof keyScopes)[number];

/** Whether the caller has the scope. Only API keys can lack one. */
export function hasScope(caller: Caller, scope: KeyScope): boolean {
  if (caller.kind !== 'superuser' || caller.key === undefined) return true;
  const { scopes } = caller.key;
  return scopes.includes(scope) || scopes.includes('admin');
}

/**
 * What a filter or sort of a caller may name: `everything`, as rules may; the record's own visible fields and those of related records
 * that the writer may list (`listed`); or the record's own visible fields alone, which events show as well (`own`).
 */
export type NameScope = 'everything' | 'listed' | 'own';

/**
 * Returns what the filters and sorts of a caller may name, wherever they are read: never more than the record API shows to that caller. An
 * API key without `records:read` reads no records; it knows what webhooks show.
 */
export function nameScope(caller: Caller): NameScope {
  if (caller.kind !== 'superuser') return 'listed';
  return hasScope(caller, 'records:read') ? 'everything' : 'own';
}

/** The part of a collection that decides which API keys reach it. */
export interface ReachableCollection {
  readonly id: string;
  readonly system: boolean;
}

/**
 * Whether the caller reaches the collection at all: an API key may be bound to some collections, and system collections need the
 * scope `admin`. Checked before every rule (`admit`), and for every collection to which a path in a filter or an expand leads
 * (`reachableCollections`).
 */
export function reaches(caller: Caller, { id, system }: ReachableCollection): boolean {
  if (caller.kind !== 'superuser' || caller.key === undefined) return true;
  const { scopes, collections } = caller.key;
  if (scopes.includes('admin')) return true;
  return !system && (collections === null || collections.includes(id));
}

/** Throws forbidden where the caller does not reach the collection. */
export function requireReach(caller: Caller, collection: ReachableCollection): void {
  if (!reaches(caller, collection))
    throw new AppError('forbidden', 'The API key does not reach this collection.');
}

/** Returns the properties of the caller that a compiled rule or filter depends on, besides the caller's own values. */
export function callerForm(caller: Caller): string {
  if (caller.kind === 'superuser') return caller.key === undefined ? 'superuser' : JSON.stringify(caller.key);
  return caller.kind === 'user' ? caller.collectionId : caller.kind;
}

/**
 * Returns the ids of the only endpoints of webhooks that the caller reaches: those that an API key is bound to, or the account's own. Null for
 * all of them, and no ids where there are none any more.
 */
export function reachedEndpoints(caller: Caller): readonly string[] | null {
  if (caller.kind === 'user') return caller.endpoints ?? null;
  return caller.kind === 'superuser' ? (caller.key?.endpoints ?? null) : null;
}

/** Whether the caller reaches the endpoint. Otherwise it is like one that does not exist. */
export function reachesEndpoint(caller: Caller, id: string): boolean {
  const reached = reachedEndpoints(caller);
  return reached === null || reached.includes(id);
}

/** Returns the id of the portal link whose session makes the request; undefined for other callers. */
export function portalOf(caller: Caller): string | undefined {
  if (caller.kind === 'user') return caller.portal;
  return caller.kind === 'superuser' && caller.key?.portal !== undefined ? caller.id : undefined;
}
