import { newId } from '../../src/base/ids.ts';
import { backupAccessCases } from './backup-access-cases.ts';
import { collectionAccessCases } from './collection-access-cases.ts';
import { providerAccessCases } from './provider-access-cases.ts';
import type { AccessStage } from './access-stage.ts';
import { operatorAccessCases } from './operator-access-cases.ts';
import { webhookAccessCases } from './webhook-access-cases.ts';

/** One request for a route, which every role makes. */
export interface AccessCase {
  /** Method and path as in the router: `GET /api/collections/{collection}`. */
  readonly route: string;
  /** Names the case among those of the same route. */
  readonly of: string;
  /** Builds the request, and creates its target anew so that no case depends on another. */
  readonly request: (stage: AccessStage) => Promise<AccessRequest> | AccessRequest;
  /** True where refusals are counted: every role makes a request of its own. */
  readonly isCounted?: true;
}

export interface AccessRequest {
  readonly path: string;
  readonly body?: object;
}

/** At least one case for every route. spec/access.json says what each role is answered. */
export const accessCases: readonly AccessCase[] = [
  ...['/api/collections/{collection}/records', '/api/records/{collection}'].flatMap(recordCases),
  ...accountCases(),
  ...superuserCases(),
  ...batchCases(),
  ...fileCases(),
  ...collectionAccessCases(),
  ...authCases(),
  ...webhookAccessCases(),
  ...settingsCases(),
  ...backupAccessCases(),
  ...providerAccessCases,
  ...keyCases(),
  ...openCases(),
  ...realtimeCases(),
  ...mailCases(),
  ...operatorAccessCases(),
  // At the end: the service may do the job during the next cases, and what it deletes would count as changed by them.
  {
    route: 'GET /api/jobs/{id}',
    of: 'of the operator',
    request: async (stage) => ({ path: `/api/jobs/${await stage.job()}` }),
  },
];

function recordCases(route: string): readonly AccessCase[] {
  const notes = route.replace('{collection}', 'notes');
  const of = 'a note of the user';
  return [
    { route: `GET ${route}`, of: 'notes', request: () => ({ path: notes }) },
    {
      route: `POST ${route}`,
      of,
      request: ({ userId }) => ({ path: notes, body: { title: 'mine', owner: userId } }),
    },
    {
      route: `GET ${route}/{id}`,
      of,
      request: async (stage) => ({ path: `${notes}/${await stage.note()}` }),
    },
    {
      route: `PATCH ${route}/{id}`,
      of,
      request: async (stage) => ({ path: `${notes}/${await stage.note()}`, body: { title: 'changed' } }),
    },
    {
      route: `DELETE ${route}/{id}`,
      of,
      request: async (stage) => ({ path: `${notes}/${await stage.note()}` }),
    },
  ];
}

/** Cases for records of auth collections, which are also governed by rules for accounts. */
function accountCases(): readonly AccessCase[] {
  const route = '/api/collections/{collection}/records';
  const users = '/api/collections/users/records';
  return [
    { route: `GET ${route}`, of: 'accounts', request: () => ({ path: users }) },
    {
      route: `POST ${route}`,
      of: 'an account',
      request: (stage) => ({ path: users, body: newAccount(stage) }),
    },
    {
      route: `GET ${route}/{id}`,
      of: 'the account of the user',
      request: ({ userId }) => ({ path: `${users}/${userId}` }),
    },
    {
      route: `PATCH ${route}/{id}`,
      of: 'the account of the user',
      request: ({ userId }) => ({ path: `${users}/${userId}`, body: { emailVisibility: false } }),
    },
    {
      route: `PATCH ${route}/{id}`,
      of: 'whether the address of the user is verified',
      request: async (stage) => {
        const path = `${users}/${stage.userId}`;
        await stage.make(path, { verified: false }, 'PATCH');
        return { path, body: { verified: true } };
      },
    },
    {
      route: `DELETE ${route}/{id}`,
      of: 'the account of somebody else',
      request: async (stage) => ({ path: `${users}/${await stage.account()}` }),
    },
  ];
}

function superuserCases(): readonly AccessCase[] {
  const route = '/api/collections/{collection}/records';
  const superusers = '/api/collections/_superusers/records';
  return [
    { route: `GET ${route}`, of: 'superusers', request: () => ({ path: superusers }) },
    {
      route: `POST ${route}`,
      of: 'a superuser',
      request: (stage) => ({ path: superusers, body: newAccount(stage) }),
    },
    {
      route: `GET ${route}/{id}`,
      of: 'a superuser',
      request: async (stage) => ({ path: `${superusers}/${await stage.superuser()}` }),
    },
    {
      route: `PATCH ${route}/{id}`,
      of: 'a superuser',
      request: async (stage) => ({
        path: `${superusers}/${await stage.superuser()}`,
        body: { verified: true },
      }),
    },
    {
      route: `DELETE ${route}/{id}`,
      of: 'a superuser',
      request: async (stage) => ({ path: `${superusers}/${await stage.superuser()}` }),
    },
  ];
}

function batchCases(): readonly AccessCase[] {
  return [
    {
      route: 'POST /api/batch',
      of: 'a note of the user',
      request: ({ userId }) => ({
        path: '/api/batch',
        body: {
          requests: [
            {
              method: 'POST',
              url: '/api/collections/notes/records',
              body: { title: 'one of many', owner: userId },
            },
          ],
        },
      }),
    },
  ];
}

function fileCases(): readonly AccessCase[] {
  const route = 'GET /api/files/{collection}/{record}/{name}';
  return [
    {
      route,
      of: 'a file of the user',
      request: async (stage) => ({ path: await stage.file('cover') }),
    },
    {
      route,
      of: 'a protected file of the user, without a token',
      request: async (stage) => ({ path: await stage.file('letter') }),
    },
    { route: 'POST /api/files/token', of: '', request: () => ({ path: '/api/files/token' }) },
  ];
}

function authCases(): readonly AccessCase[] {
  const route = '/api/collections/{collection}';
  const users = '/api/collections/users';
  return [
    { route: `GET ${route}/auth-methods`, of: '', request: () => ({ path: `${users}/auth-methods` }) },
    {
      route: `POST ${route}/auth-with-password`,
      of: '',
      request: ({ password }) => ({
        path: `${users}/auth-with-password`,
        body: { identity: 'user@example.com', password },
      }),
    },
    { route: `POST ${route}/auth-refresh`, of: 'users', request: () => ({ path: `${users}/auth-refresh` }) },
    {
      route: `POST ${route}/auth-refresh`,
      of: 'superusers',
      request: () => ({ path: '/api/collections/_superusers/auth-refresh' }),
    },
    {
      route: `POST ${route}/impersonate/{id}`,
      of: 'the user',
      request: ({ userId }) => ({ path: `${users}/impersonate/${userId}` }),
    },
  ];
}

function settingsCases(): readonly AccessCase[] {
  return [
    { route: 'GET /api/settings', of: '', request: () => ({ path: '/api/settings' }) },
    {
      route: 'PATCH /api/settings',
      of: '',
      request: (stage) => ({ path: '/api/settings', body: { meta: { appName: stage.fresh() } } }),
    },
    { route: 'POST /api/settings/test/s3', of: '', request: () => ({ path: '/api/settings/test/s3' }) },
    { route: 'GET /api/logs', of: '', request: () => ({ path: '/api/logs' }) },
    { route: 'DELETE /api/logs', of: '', request: () => ({ path: '/api/logs' }) },
    { route: 'GET /api/logs/stats', of: '', request: () => ({ path: '/api/logs/stats' }) },
    {
      route: 'GET /api/logs/{id}',
      of: '',
      request: async (stage) => ({ path: `/api/logs/${await stage.logEntry()}` }),
    },
  ];
}

function keyCases(): readonly AccessCase[] {
  return [
    { route: 'GET /api/keys', of: '', request: () => ({ path: '/api/keys' }) },
    {
      route: 'POST /api/keys',
      of: '',
      request: () => ({ path: '/api/keys', body: { name: 'a key', scopes: ['records:read'] } }),
    },
    { route: 'GET /api/keys/current', of: '', request: () => ({ path: '/api/keys/current' }) },
    {
      route: 'DELETE /api/keys/{id}',
      of: '',
      request: async (stage) => ({ path: `/api/keys/${await stage.key()}` }),
    },
    { route: 'GET /api/audit', of: '', request: () => ({ path: '/api/audit' }) },
    { route: 'POST /api/sign-in-links', of: '', request: () => ({ path: '/api/sign-in-links' }) },
    {
      route: 'POST /api/sign-in-links/use',
      of: 'with a token that is none',
      request: () => ({ path: '/api/sign-in-links/use', body: { token: 'none' } }),
    },
    {
      route: 'POST /api/setup',
      of: 'with a token that is none',
      request: (stage) => ({ path: '/api/setup', body: { ...newAccount(stage), token: 'none' } }),
    },
  ];
}

/** Cases that send mails, about an account that no other case uses. */
function mailCases(): readonly AccessCase[] {
  const route = 'POST /api/collections/{collection}';
  const users = '/api/collections/users';
  const address = async (stage: AccessStage): Promise<object> => ({
    email: `${await stage.account()}@example.com`,
  });
  return [
    ...['request-verification', 'request-password-reset'].map((name) => ({
      route: `${route}/${name}`,
      of: '',
      request: async (stage: AccessStage) => ({ path: `${users}/${name}`, body: await address(stage) }),
    })),
    {
      route: `${route}/request-email-change`,
      of: '',
      request: (stage) => ({
        path: `${users}/request-email-change`,
        body: { newEmail: `${stage.fresh()}@example.com` },
      }),
    },
    ...['confirm-verification', 'confirm-password-reset', 'confirm-email-change'].map((name) => ({
      route: `${route}/${name}`,
      of: 'with a token that is none',
      request: ({ password }: AccessStage) => ({
        path: `${users}/${name}`,
        body: { token: 'none', password, passwordConfirm: password },
      }),
    })),
    {
      route: `${route}/request-otp`,
      of: 'for an address that nobody has',
      // An unknown address: for a known one a code would be stored after the answer.
      request: () => ({ path: `${users}/request-otp`, body: { email: 'nobody@example.com' } }),
    },
    {
      route: `${route}/auth-with-otp`,
      of: 'with a code that is none',
      // By the beginning of the id.
      isCounted: true,
      request: () => ({ path: `${users}/auth-with-otp`, body: { otpId: newId(), password: 'none' } }),
    },
    {
      route: 'POST /api/settings/test/email',
      of: '',
      request: (stage) => ({
        path: '/api/settings/test/email',
        body: { email: `${stage.fresh()}@example.com`, template: 'verification' },
      }),
    },
    { route: 'GET /api/mails', of: '', request: () => ({ path: '/api/mails' }) },
    { route: 'GET /metrics', of: '', request: () => ({ path: '/metrics' }) },
  ];
}

/** Cases that every role is answered alike. */
function openCases(): readonly AccessCase[] {
  return [
    '/api/health',
    '/api/settings/public',
    '/api/health/live',
    '/api/health/ready',
    '/api/openapi.json',
  ].map((path) => ({
    route: `GET ${path}`,
    of: '',
    request: () => ({ path }),
  }));
}

function realtimeCases(): readonly AccessCase[] {
  const path = '/api/realtime';
  const body = { clientId: 'of nobody', subscriptions: ['notes/*'] };
  return [
    { route: `GET ${path}`, of: '', request: () => ({ path }) },
    { route: `POST ${path}`, of: "by an id that is nobody's", request: () => ({ path, body }) },
  ];
}

function newAccount(stage: AccessStage): object {
  const { password } = stage;
  return { email: `${stage.fresh()}@example.com`, password, passwordConfirm: password };
}
