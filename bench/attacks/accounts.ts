import type { Attacks, Target } from '../support/attack.ts';

const users = '/api/collections/users';
const password = 'a password of a user';

/** Sign-ins, sign-ups, tokens and mails. */
export const accountAttacks: Attacks = {
  'sign-ins, 50 clients': {
    clients: 50,
    prepare: addUser,
    run: ({ ask }) =>
      ask(`${users}/auth-with-password`, {
        body: JSON.stringify({ identity: 'one@example.com', password }),
        isGuest: true,
      }),
  },
  'sign-ins with unknown names, 50 clients': {
    clients: 50,
    run: ({ ask, next }) =>
      ask(`${users}/auth-with-password`, {
        body: JSON.stringify({ identity: `n${next()}@example.com`, password }),
        isGuest: true,
      }),
  },
  'sign-ups, 20 clients': {
    clients: 20,
    prepare: ({ api }) => api(users, { createRule: '' }, 'PATCH'),
    run: ({ ask, next }) =>
      ask(`${users}/records`, {
        body: JSON.stringify({ email: `u${next()}@example.com`, password, passwordConfirm: password }),
        isGuest: true,
      }),
  },
  'wrong tokens, 64 clients': {
    clients: 64,
    run: ({ ask, next, token }) =>
      ask(`${users}/records`, { headers: { authorization: `${token.slice(0, -8)}${next()}` } }),
  },
  'requests of passwords, 32 clients': {
    clients: 32,
    prepare: addUser,
    run: ({ ask }) =>
      ask(`${users}/request-password-reset`, {
        body: JSON.stringify({ email: 'one@example.com' }),
        isGuest: true,
      }),
  },
  'API keys made and deleted, 8 clients': {
    clients: 8,
    run: async ({ ask, next }) => {
      const made = await ask('/api/keys', {
        body: JSON.stringify({ name: `key ${next()}`, scopes: ['records:read'] }),
      });
      const id = /"id":"(\w+)"/.exec(made)?.[1];
      if (id !== undefined) await ask(`/api/keys/${id}`, { method: 'DELETE' });
    },
  },
  'settings changed, 8 clients': {
    clients: 8,
    run: ({ ask, next }) =>
      ask('/api/settings', {
        method: 'PATCH',
        body: JSON.stringify({ meta: { appName: `name ${next()}` } }),
      }),
  },
};

async function addUser({ api }: Target): Promise<void> {
  await api(`${users}/records`, { email: 'one@example.com', password, passwordConfirm: password });
}
