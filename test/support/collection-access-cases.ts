import type { AccessCase } from './access-cases.ts';

/** The cases of the routes of collections. */
export function collectionAccessCases(): readonly AccessCase[] {
  const all = '/api/collections';
  const one = '/api/collections/{collection}';
  return [
    { route: `GET ${all}`, of: '', request: () => ({ path: all }) },
    { route: `POST ${all}`, of: '', request: (stage) => ({ path: all, body: { name: stage.fresh() } }) },
    { route: `GET ${all}/meta/scaffolds`, of: '', request: () => ({ path: `${all}/meta/scaffolds` }) },
    { route: 'GET /api/search', of: '', request: () => ({ path: '/api/search?text=anything' }) },
    { route: `GET ${all}/meta/stats`, of: '', request: () => ({ path: `${all}/meta/stats` }) },
    { route: `GET ${all}/meta/types`, of: '', request: () => ({ path: `${all}/meta/types` }) },
    {
      route: `POST ${all}/meta/dry-run-rule`,
      of: '',
      request: () => ({
        path: `${all}/meta/dry-run-rule`,
        body: { definition: { name: 'posts' }, rule: "id != ''", record: {} },
      }),
    },
    {
      route: `POST ${all}/meta/dry-run-view`,
      of: '',
      request: () => ({ path: `${all}/meta/dry-run-view`, body: { query: 'SELECT id FROM notes' } }),
    },
    {
      route: `GET ${all}/meta/oauth2-providers`,
      of: '',
      request: () => ({ path: `${all}/meta/oauth2-providers` }),
    },
    {
      route: `PUT ${all}/import`,
      of: '',
      request: (stage) => ({ path: `${all}/import`, body: { collections: [{ name: stage.fresh() }] } }),
    },
    {
      route: `POST ${all}/import/plan`,
      of: '',
      request: (stage) => ({ path: `${all}/import/plan`, body: { collections: [{ name: stage.fresh() }] } }),
    },
    { route: `GET ${one}`, of: '', request: () => ({ path: `${all}/notes` }) },
    {
      route: `PATCH ${one}`,
      of: '',
      request: async (stage) => ({ path: `${all}/${await stage.collection()}`, body: { viewRule: '' } }),
    },
    {
      route: `DELETE ${one}`,
      of: '',
      request: async (stage) => ({ path: `${all}/${await stage.collection()}` }),
    },
    {
      route: `DELETE ${one}/truncate`,
      of: '',
      request: async (stage) => ({ path: `${all}/${await stage.collection()}/truncate` }),
    },
    {
      route: `POST ${one}/filters/check`,
      of: '',
      request: () => ({ path: `${all}/notes/filters/check`, body: { filter: "title = 'a'" } }),
    },
    {
      route: `POST ${one}/rules/test`,
      of: '',
      request: ({ userId }) => ({
        path: `${all}/users/rules/test`,
        body: { rule: 'viewRule', caller: { collection: 'users', id: userId }, record: userId },
      }),
    },
  ];
}
