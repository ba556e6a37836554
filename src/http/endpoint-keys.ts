import { type Caller, hasScope, type KeyScope, reachedEndpoints, type User } from '../access/caller.ts';
import { unreachable } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { endpointOfDelivery } from '../deliveries/deliveries.ts';
import { ownEndpoints, ownerText, requireEndpoint } from '../endpoints/endpoint-reach.ts';
import { readReplay } from '../deliveries/replays/replay-store.ts';

/**
 * What an API key that is bound to endpoints may do by a route; nothing by one that does not say it. `endpoint`, `delivery` and
 * `replay`: what it says, if the id in its path is that of one of the key's own, and otherwise it is like one that does not exist. `narrowed`:
 * the operation itself leaves out what the key does not reach (endpoints/endpoint-reach.ts).
 */
export type EndpointKeyUse = 'endpoint' | 'delivery' | 'replay' | 'narrowed';

/** The part of a route that decides it. */
interface ReachedRoute {
  readonly scope: KeyScope | 'any';
  readonly endpointKeys?: EndpointKeyUse;
  readonly owners?: EndpointKeyUse;
}

/**
 * Returns the caller with the endpoints that it owns, if it is an account that may have some and the route is for them: then it may do there
 * what a key that is bound to these may, and make and delete them. The session of a portal for such an account is that account there.
 */
export async function withOwnEndpoints(
  { scope, endpointKeys, owners = endpointKeys }: ReachedRoute,
  { database, collections }: Pick<Instance, 'database' | 'collections'>,
  caller: Caller,
): Promise<Caller> {
  if (owners === undefined) return caller;
  const account = caller.kind === 'user' ? caller : accountOfPortal(caller, scope);
  if (account === undefined || collections.find(account.collectionId)?.auth?.webhooks.enabled !== true)
    return caller;
  return { ...account, endpoints: await ownEndpoints(database, ownerText(account)) };
}

/** Returns the account that the session of a portal is for. Without the scope of the route it stays what it is, and is rejected. */
function accountOfPortal(caller: Caller, scope: KeyScope | 'any'): User | undefined {
  if (caller.kind !== 'superuser') return undefined;
  const owner = caller.key?.portal?.owner;
  if (owner === undefined || scope === 'any' || !hasScope(caller, scope)) return undefined;
  return { kind: 'user', ...owner, portal: caller.id };
}

interface Asked {
  readonly instance: Pick<Instance, 'database'>;
  readonly caller: Caller;
  /** Of the path. */
  readonly id: string;
}

/** Throws forbidden for a key that is bound to endpoints where the route is not for such keys, and not_found for the id of what it does not reach. */
export async function requireReached(
  { scope, endpointKeys, owners = endpointKeys }: ReachedRoute,
  { instance, caller, id }: Asked,
): Promise<void> {
  const use = caller.kind === 'user' ? owners : endpointKeys;
  if (scope === 'any' || reachedEndpoints(caller) === null || use === 'narrowed') return;
  if (use === undefined)
    throw new AppError('forbidden', 'The API key is bound to endpoints and may not do this.');
  requireEndpoint(caller, await endpointOf(use, instance, id));
}

async function endpointOf(
  kind: Exclude<EndpointKeyUse, 'narrowed'>,
  { database }: Asked['instance'],
  id: string,
): Promise<string> {
  switch (kind) {
    case 'endpoint':
      return id;
    case 'delivery':
      return endpointOfDelivery(id);
    case 'replay':
      return (await readReplay(database, id)).endpointId;
    default:
      return unreachable(kind);
  }
}
