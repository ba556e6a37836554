import { type Caller, reachedEndpoints } from '../access/caller.ts';
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
  readonly scope: string;
  readonly endpointKeys?: EndpointKeyUse;
  readonly owners?: EndpointKeyUse;
}

/**
 * Returns the caller with the endpoints that it owns, if it is an account that may have some and the route is for them: then it may do there
 * what a key that is bound to these may, and make and delete them.
 */
export async function withOwnEndpoints(
  { endpointKeys, owners = endpointKeys }: ReachedRoute,
  { database, collections }: Pick<Instance, 'database' | 'collections'>,
  caller: Caller,
): Promise<Caller> {
  if (caller.kind !== 'user' || owners === undefined) return caller;
  if (collections.find(caller.collectionId)?.auth?.webhooks.enabled !== true) return caller;
  return { ...caller, endpoints: await ownEndpoints(database, ownerText(caller)) };
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
