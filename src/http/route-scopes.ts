import type { FastifyRequest } from 'fastify';
import { AppError } from '../base/errors.ts';
import type { Caller } from '../rules/caller.ts';
import { hasScope } from '../rules/has-scope.ts';
import { keyScopes, type KeyScope } from '../rules/key-scope.ts';

/**
 * The routes that an API key may use with each scope; a route that is not listed needs `admin`. Every key may use those under `any`,
 * which show it what a guest sees, and more if its scopes allow.
 */
const routes: Readonly<Partial<Record<KeyScope | 'any', readonly string[]>>> = {
  any: ['GET /api/health', 'GET /api/openapi.json', 'GET /api/collections/:collection/auth-methods'],
  'records:read': [
    'GET /api/collections/:collection/records',
    'GET /api/collections/:collection/records/:id',
    'GET /api/records/:collection',
    'GET /api/records/:collection/:id',
  ],
  'records:write': [
    'POST /api/collections/:collection/records',
    'PATCH /api/collections/:collection/records/:id',
    'DELETE /api/collections/:collection/records/:id',
    'POST /api/records/:collection',
    'PATCH /api/records/:collection/:id',
    'DELETE /api/records/:collection/:id',
    'POST /api/batch',
    'DELETE /api/collections/:collection/truncate',
  ],
  'collections:read': [
    'GET /api/collections',
    'GET /api/collections/:collection',
    'GET /api/collections/meta/scaffolds',
    'GET /api/collections/meta/oauth2-providers',
  ],
  'collections:write': [
    'POST /api/collections',
    'PATCH /api/collections/:collection',
    'DELETE /api/collections/:collection',
    'PUT /api/collections/import',
  ],
  'webhooks:read': [
    'GET /api/webhooks/endpoints',
    'GET /api/webhooks/endpoints/:id',
    'GET /api/webhooks/deliveries',
    'GET /api/webhooks/deliveries/:id',
  ],
  'webhooks:write': [
    'POST /api/webhooks/endpoints',
    'PATCH /api/webhooks/endpoints/:id',
    'DELETE /api/webhooks/endpoints/:id',
    // The secret signs webhooks: its holder can send some in the name of the service.
    'GET /api/webhooks/endpoints/:id/secret',
    'POST /api/webhooks/endpoints/:id/pause',
    'POST /api/webhooks/endpoints/:id/resume',
    'POST /api/webhooks/endpoints/:id/test',
    'POST /api/webhooks/deliveries/:id/retry',
    'POST /api/webhooks/deliveries/:id/cancel',
  ],
};

/** The scope of each route, by method and path. */
export const routeScopes: ReadonlyMap<string, KeyScope | 'any'> = new Map(
  (['any', ...keyScopes] as const).flatMap((scope) =>
    (routes[scope] ?? []).map((route) => [route, scope] as const),
  ),
);

/** Throws forbidden for an API key without the scope that this route needs. Other callers have no scopes. */
export function requireScope(caller: Caller, request: FastifyRequest<object>): void {
  if (caller.kind !== 'superuser' || caller.key === undefined) return;
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const scope = routeScopes.get(`${method} ${request.routeOptions.url ?? ''}`) ?? 'admin';
  if (scope !== 'any' && !hasScope(caller, scope))
    throw new AppError('forbidden', `The API key needs the scope ${scope}.`);
}
