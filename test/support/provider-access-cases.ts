import type { AccessCase } from './access-cases.ts';

const redirect = '/api/oauth2-redirect';
const appleSecret = '/api/settings/apple/generate-client-secret';

/** The cases of the routes of sign-ins at providers. */
export const providerAccessCases: readonly AccessCase[] = [
  {
    route: 'POST /api/collections/{collection}/auth-with-oauth2',
    of: 'with a provider that is none',
    request: () => ({
      path: '/api/collections/users/auth-with-oauth2',
      body: { provider: 'none', code: 'x' },
    }),
  },
  {
    route: `GET ${redirect}`,
    of: 'with a state that is none',
    request: () => ({ path: `${redirect}?state=none&code=x` }),
  },
  {
    route: `POST ${redirect}`,
    of: 'with a state that is none',
    request: () => ({ path: redirect, body: { state: 'none', code: 'x' } }),
  },
  { route: `POST ${appleSecret}`, of: '', request: () => ({ path: appleSecret, body: {} }) },
];
