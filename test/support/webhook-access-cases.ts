import type { AccessCase } from './access-cases.ts';
import type { AccessStage } from './access-stage.ts';

/** The routes of webhooks and of the log of events. */
export function webhookAccessCases(): readonly AccessCase[] {
  const endpoints = '/api/webhooks/endpoints';
  const deliveries = '/api/webhooks/deliveries';
  const ofEndpoint = (method: string, action = '', body?: object): AccessCase => ({
    route: `${method} ${endpoints}/{id}${action}`,
    of: '',
    request: async (stage) => ({
      path: `${endpoints}/${await stage.endpoint()}${action}`,
      ...(body && { body }),
    }),
  });
  const ofDelivery = (method: string, action = ''): AccessCase => ({
    route: `${method} ${deliveries}/{id}${action}`,
    of: '',
    request: async (stage) => ({ path: `${deliveries}/${await stage.delivery()}${action}` }),
  });
  return [
    ...historyCases(),
    { route: `GET ${endpoints}`, of: '', request: () => ({ path: endpoints }) },
    {
      route: `POST ${endpoints}`,
      of: '',
      request: () => ({ path: endpoints, body: { url: 'http://127.0.0.1:9/', collections: ['users'] } }),
    },
    {
      route: `POST ${endpoints}/check`,
      of: '',
      request: () => ({ path: `${endpoints}/check`, body: { url: 'http://127.0.0.1:9/' } }),
    },
    {
      route: 'POST /api/webhooks/filters/test',
      of: '',
      request: () => ({
        path: '/api/webhooks/filters/test',
        body: { filter: 'id != ""', collection: 'users' },
      }),
    },
    importCase(),
    ...keyCases(),
    ...portalCases(),
    ofEndpoint('GET'),
    ofEndpoint('GET', '/secret'),
    ofEndpoint('POST', '/secret/rotate'),
    ofEndpoint('PATCH', '', { description: 'changed' }),
    ofEndpoint('DELETE'),
    ofEndpoint('POST', '/pause'),
    ofEndpoint('POST', '/resume'),
    ofEndpoint('POST', '/test'),
    ofEndpoint('POST', '/verify'),
    { route: `GET ${deliveries}`, of: '', request: () => ({ path: deliveries }) },
    ofDelivery('GET'),
    ofDelivery('POST', '/retry'),
    ofDelivery('POST', '/cancel'),
    ofEndpoint('POST', '/replay', { dryRun: true }),
    ofEndpoint('POST', '/backfill', { collection: 'users', dryRun: true }),
    ofEndpoint('POST', '/reconcile'),
    ...['GET', 'DELETE'].map((method) => ({
      route: `${method} /api/webhooks/replays/{id}`,
      of: '',
      request: async (stage: AccessStage) => ({ path: `/api/webhooks/replays/${await stage.replay()}` }),
    })),
    ...eventCases(),
    ...endpointStatsCases(),
  ];
}

function importCase(): AccessCase {
  const path = '/api/webhooks/endpoints/import';
  const body = { endpoints: [{ name: 'shop', url: 'http://127.0.0.1:9/', collections: ['users'] }] };
  return { route: `PUT ${path}`, of: '', request: () => ({ path, body }) };
}

function catcherCases(): readonly AccessCase[] {
  return [
    { route: 'POST /api/webhooks/catchers', of: '', request: () => ({ path: '/api/webhooks/catchers' }) },
    ...['GET', 'DELETE'].map((method) => ({
      route: `${method} /api/webhooks/catchers/{id}`,
      of: '',
      request: async (stage: AccessStage) => ({ path: `/api/webhooks/catchers/${await stage.catcher()}` }),
    })),
    {
      route: 'POST /api/webhooks/catchers/{id}/requests',
      of: '',
      request: async (stage) => ({
        path: `/api/webhooks/catchers/${await stage.catcher()}/requests`,
        body: { event: 'record.create' },
      }),
    },
  ];
}

function eventCases(): readonly AccessCase[] {
  return [
    {
      route: 'GET /api/webhooks/event-types',
      of: '',
      request: () => ({ path: '/api/webhooks/event-types' }),
    },
    { route: 'GET /api/webhooks/events', of: '', request: () => ({ path: '/api/webhooks/events' }) },
    {
      route: 'GET /api/webhooks/events/{id}',
      of: '',
      request: async (stage) => ({ path: `/api/webhooks/events/${(await stage.delivery()).split('-')[0]}` }),
    },
    {
      route: 'GET /api/webhooks/events/{id}/why',
      of: '',
      request: async (stage) => ({
        path: `/api/webhooks/events/${(await stage.delivery()).split('-')[0]}/why`,
      }),
    },
    {
      route: 'DELETE /api/webhooks/events/{id}/body',
      of: '',
      request: async (stage) => ({
        path: `/api/webhooks/events/${(await stage.delivery()).split('-')[0]}/body`,
      }),
    },
    ...statsCases(),
    { route: 'GET /api/webhooks/feed', of: '', request: () => ({ path: '/api/webhooks/feed' }) },
    ...catcherCases(),
    {
      route: 'GET /api/webhooks/feed',
      of: 'signed',
      request: async (stage) => ({ path: `/api/webhooks/feed?signed=${await stage.endpoint()}` }),
    },
    ...['GET', 'PUT', 'DELETE'].map((method) => ({
      route: `${method} /api/webhooks/consumers/{name}`,
      of: '',
      request: async (stage: AccessStage) => ({
        path: await stage.consumer(),
        ...(method === 'PUT' && { body: {} }),
      }),
    })),
  ];
}

function statsCases(): readonly AccessCase[] {
  return [];
}

function historyCases(): readonly AccessCase[] {
  const notes = '/api/collections/notes/records';
  const of = 'a note of the user';
  return [
    {
      route: 'GET /api/collections/{collection}/records/{id}/history',
      of,
      request: async (stage) => ({ path: `${notes}/${await stage.note()}/history` }),
    },
    {
      route: 'POST /api/collections/{collection}/records/{id}/revert',
      of,
      request: async (stage) => {
        const note = `${notes}/${await stage.note()}`;
        await stage.make(note, { title: 'changed' }, 'PATCH');
        return { path: `${note}/revert`, body: { to: 1 } };
      },
    },
  ];
}

/** The keys of asymmetric signatures. */
function keyCases(): readonly AccessCase[] {
  return [
    { route: 'GET /.well-known/jwks.json', of: '', request: () => ({ path: '/.well-known/jwks.json' }) },
    { route: 'GET /api/webhooks/keys', of: '', request: () => ({ path: '/api/webhooks/keys' }) },
    {
      route: 'POST /api/webhooks/keys/rotate',
      of: '',
      request: () => ({ path: '/api/webhooks/keys/rotate', body: {} }),
    },
  ];
}

function portalCases(): readonly AccessCase[] {
  const links = '/api/webhooks/portal-links';
  return [
    { route: `GET ${links}`, of: '', request: () => ({ path: links }) },
    {
      route: `POST ${links}`,
      of: '',
      request: async (stage) => ({ path: links, body: { endpoints: [await stage.endpoint()] } }),
    },
    {
      route: `POST ${links}/use`,
      of: 'with a token that is none',
      request: () => ({ path: `${links}/use`, body: { token: 'none' } }),
    },
    { route: `GET ${links}/current`, of: '', request: () => ({ path: `${links}/current` }) },
    { route: `DELETE ${links}/current`, of: '', request: () => ({ path: `${links}/current` }) },
    {
      route: `DELETE ${links}/{id}`,
      of: '',
      request: async (stage) => ({ path: `${links}/${await stage.portalLink()}` }),
    },
  ];
}

function endpointStatsCases(): readonly AccessCase[] {
  return [
    {
      route: 'GET /api/webhooks/endpoints/{id}/stats',
      of: '',
      request: async (stage) => ({ path: `/api/webhooks/endpoints/${await stage.endpoint()}/stats` }),
    },
    {
      route: 'GET /api/webhooks/endpoints/{id}/figures',
      of: '',
      request: async (stage) => ({ path: `/api/webhooks/endpoints/${await stage.endpoint()}/figures` }),
    },
    { route: 'GET /api/webhooks/stats', of: '', request: () => ({ path: '/api/webhooks/stats' }) },
    { route: 'GET /api/webhooks/lanes', of: '', request: () => ({ path: '/api/webhooks/lanes' }) },
  ];
}
