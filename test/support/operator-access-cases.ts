import type { AccessCase } from './access-cases.ts';

const instances = '/api/operator/instances';

/** Cases for the routes of the operator. */
export function operatorAccessCases(): readonly AccessCase[] {
  return [
    ...['events', 'audit', 'nodes', 'metrics', 'instances', 'keys/current'].map((name) => {
      const path = `/api/operator/${name}`;
      return { route: `GET ${path}`, of: '', request: () => ({ path }) };
    }),
    {
      route: `POST ${instances}`,
      of: '',
      request: (stage) => ({ path: instances, body: { slug: stage.fresh() } }),
    },
    {
      route: `GET ${instances}/{instance}`,
      of: '',
      request: async (stage) => ({ path: `${instances}/${await stage.instance()}` }),
    },
    {
      route: `PATCH ${instances}/{instance}`,
      of: '',
      request: async (stage) => ({
        path: `${instances}/${await stage.instance()}`,
        body: { labels: { plan: 'pro' } },
      }),
    },
    {
      route: `DELETE ${instances}/{instance}`,
      of: '',
      request: async (stage) => ({ path: `${instances}/${await stage.instance()}` }),
    },
    ...transferCases(),
    ...schemaCases(),
    ...endpointCases(),
    {
      route: `POST ${instances}/{instance}/keys`,
      of: '',
      request: async (stage) => ({
        path: `${instances}/${await stage.instance()}/keys`,
        body: { name: 'app', scopes: ['records:read'] },
      }),
    },
    ...(
      [
        ['suspend', 'active'],
        ['resume', 'suspended'],
        ['restore', 'deleted'],
      ] as const
    ).map(([step, state]) => ({
      route: `POST ${instances}/{instance}/${step}`,
      of: '',
      request: async (stage: Parameters<AccessCase['request']>[0]) => ({
        path: `${instances}/${await stage.instance(state)}/${step}`,
      }),
    })),
  ];
}

function transferCases(): readonly AccessCase[] {
  return [
    { route: 'GET /api/operator/backups', of: '', request: () => ({ path: '/api/operator/backups' }) },
    {
      route: `GET ${instances}/{instance}/backups`,
      of: '',
      request: async (stage) => ({ path: `${instances}/${await stage.instance()}/backups` }),
    },
    {
      route: `GET ${instances}/{instance}/quotas`,
      of: '',
      request: async (stage) => ({ path: `${instances}/${await stage.instance()}/quotas` }),
    },
    {
      route: `POST ${instances}/{instance}/backups`,
      of: '',
      request: async (stage) => ({ path: `${instances}/${await stage.instance()}/backups` }),
    },
    { route: 'GET /api/operator/usage', of: '', request: () => ({ path: '/api/operator/usage' }) },
    {
      route: `GET ${instances}/{instance}/usage`,
      of: '',
      request: async (stage) => ({ path: `${instances}/${await stage.instance()}/usage` }),
    },
    {
      route: `POST ${instances}/{instance}/clone`,
      of: '',
      request: async (stage) => ({
        path: `${instances}/${await stage.instance()}/clone`,
        body: { slug: stage.fresh() },
      }),
    },
    // Without an archive.
    {
      route: `POST ${instances}/import`,
      of: '',
      request: (stage) => ({ path: `${instances}/import?slug=${stage.fresh()}` }),
    },
    {
      route: `GET ${instances}/{instance}/archive`,
      of: '',
      request: async (stage) => ({ path: `${instances}/${await stage.instance()}/archive` }),
    },
  ];
}

const schema = '/api/operator/schema';

function schemaCases(): readonly AccessCase[] {
  const body = { instances: ['default'], collections: [{ name: 'notes' }] };
  return [
    { route: `PUT ${schema}`, of: '', request: () => ({ path: schema, body }) },
    { route: `GET ${schema}`, of: '', request: () => ({ path: schema }) },
    ...[
      ['GET', ''],
      ['GET', '/results'],
      ['POST', '/cancel'],
      ['POST', '/retry'],
    ].map(([method, step]) => ({
      route: `${method} ${schema}/{job}${step}`,
      of: '',
      request: async (stage: Parameters<AccessCase['request']>[0]) => ({
        path: `${schema}/${await stage.schemaJob()}${step}`,
      }),
    })),
  ];
}

function endpointCases(): readonly AccessCase[] {
  const endpoints = '/api/operator/endpoints';
  const one = `${endpoints}/{endpoint}`;
  const onOne = (line: string, body?: object): AccessCase => {
    const [, path = ''] = line.split(' ');
    return {
      route: line,
      of: '',
      request: async (stage) => ({
        path: path.replace('{endpoint}', await stage.operatorEndpoint()),
        ...(body !== undefined && { body }),
      }),
    };
  };
  return [
    { route: `GET ${endpoints}`, of: '', request: () => ({ path: endpoints }) },
    {
      route: `POST ${endpoints}`,
      of: '',
      request: () => ({ path: endpoints, body: { url: 'http://127.0.0.1:9/hook', status: 'paused' } }),
    },
    onOne(`GET ${one}`),
    onOne(`PATCH ${one}`, { description: 'changed' }),
    onOne(`POST ${one}/secret/rotate`),
    onOne(`POST ${one}/test`),
    onOne(`DELETE ${one}`),
  ];
}
