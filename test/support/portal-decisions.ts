export const webhooks = '/api/webhooks';

/** What a key that is bound to endpoints may do by each route of webhooks: a new route has to be decided here too. */
export const decisions: Readonly<
  Record<string, 'endpoint' | 'delivery' | 'replay' | 'narrowed' | 'refused' | 'any'>
> = {
  'GET /endpoints': 'narrowed',
  'POST /endpoints': 'refused',
  'POST /endpoints/check': 'narrowed',
  'PUT /endpoints/import': 'refused',
  'GET /endpoints/{id}': 'endpoint',
  'PATCH /endpoints/{id}': 'endpoint',
  'DELETE /endpoints/{id}': 'refused',
  'GET /endpoints/{id}/secret': 'endpoint',
  'POST /endpoints/{id}/secret/rotate': 'endpoint',
  'POST /endpoints/{id}/pause': 'endpoint',
  'POST /endpoints/{id}/resume': 'endpoint',
  'POST /endpoints/{id}/test': 'endpoint',
  'POST /endpoints/{id}/verify': 'endpoint',
  'POST /endpoints/{id}/reconcile': 'endpoint',
  'POST /endpoints/{id}/replay': 'endpoint',
  'POST /endpoints/{id}/backfill': 'refused',
  'GET /endpoints/{id}/stats': 'endpoint',
  'GET /endpoints/{id}/figures': 'endpoint',
  'GET /stats': 'refused',
  'GET /lanes': 'narrowed',
  'GET /deliveries': 'narrowed',
  'GET /deliveries/{id}': 'delivery',
  'POST /deliveries/{id}/retry': 'delivery',
  'POST /deliveries/{id}/cancel': 'delivery',
  'GET /replays/{id}': 'replay',
  'DELETE /replays/{id}': 'replay',
  'GET /events': 'narrowed',
  'GET /events/{id}': 'narrowed',
  'GET /events/{id}/why': 'refused',
  'DELETE /events/{id}/body': 'refused',
  // Everybody may read them at /.well-known/jwks.json.
  'GET /keys': 'refused',
  'POST /keys/rotate': 'refused',
  'GET /event-types': 'refused',
  'POST /filters/test': 'refused',
  'GET /feed': 'refused',
  'GET /consumers/{name}': 'refused',
  'PUT /consumers/{name}': 'refused',
  'DELETE /consumers/{name}': 'refused',
  'POST /catchers': 'refused',
  'GET /catchers/{id}': 'refused',
  'DELETE /catchers/{id}': 'refused',
  'GET /portal-links': 'refused',
  'POST /portal-links': 'refused',
  'DELETE /portal-links/{id}': 'refused',
  'GET /portal-links/current': 'narrowed',
  'DELETE /portal-links/current': 'narrowed',
  // Whoever has the link: it is its own secret.
  'POST /portal-links/use': 'any',
  // Receivers are nobody: the id of a catcher is its own secret.
  'POST /catchers/{id}/requests': 'any',
};

/** The routes with a decision, with `{id}` in their paths. */
export function routesOf(decision: string): readonly (readonly [method: string, path: string])[] {
  return Object.entries(decisions)
    .filter(([, one]) => one === decision)
    .map(([route]) => {
      const [method = '', path = ''] = route.split(' ');
      return [method, webhooks + path] as const;
    });
}
