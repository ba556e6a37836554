import type { AccessCase } from './access-cases.ts';

/** The cases of the routes of backups and of scheduled jobs. */
export function backupAccessCases(): readonly AccessCase[] {
  const path = '/api/backups';
  const ofOne = (route: string, rest = ''): AccessCase => ({
    route,
    of: 'of the operator',
    request: async (stage) => ({ path: `${path}/${await stage.backup()}${rest}` }),
  });
  return [
    { route: `GET ${path}`, of: '', request: () => ({ path }) },
    {
      route: `POST ${path}`,
      of: '',
      request: (stage) => ({ path, body: { name: `${stage.fresh()}.zip` } }),
    },
    { route: `GET ${path}/status`, of: '', request: () => ({ path: `${path}/status` }) },
    {
      route: `POST ${path}/upload`,
      of: 'without a file',
      request: () => ({ path: `${path}/upload`, body: {} }),
    },
    { route: 'GET /api/crons', of: '', request: () => ({ path: '/api/crons' }) },
    // One that runs already would be refused.
    {
      route: 'POST /api/crons/{id}',
      of: 'that does not exist',
      request: () => ({ path: '/api/crons/nope' }),
    },
    ofOne(`GET ${path}/{key}`),
    ofOne(`DELETE ${path}/{key}`),
    ofOne(`POST ${path}/{key}/restore`, '/restore'),
    ofOne(`POST ${path}/{key}/verify`, '/verify'),
  ];
}
