import type { Random } from '../random.ts';

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export type Ask = (method: string, path: string, body?: object) => Promise<Json>;

export const collections = '/api/collections';
export const posts = `${collections}/posts/records`;
export const names = ['ann', 'bob'] as const;

/** In no state that has it may anybody be sent a post. */
export const secret = 'secret';

/** Who may view posts is one of these, for accounts. Nobody ever views what is secret, and bob nothing that is for ann. */
const rules = [
  'status = "published"',
  'team.members_via_team.user ?= @request.auth.id',
  '@collection.members.user ?= @request.auth.id && team.isOpen = true',
  'team.isOpen = true || status = "published"',
  'number > 40',
].map((rule) => `level != "${secret}" && (level != "ann" || @request.auth.name = "ann") && (${rule})`);

/** What endpoints of superusers and accounts filter by. */
const filters = ['status = "published"', 'number > 30', 'team.isOpen = true', 'number < 70'].map(
  (filter) => `level != "${secret}" && (${filter})`,
);

export function ruleOf(random: Random): object {
  const rule = random.pick(rules) ?? '';
  return { viewRule: rule, listRule: rule };
}

export function filterOf(random: Random): string {
  return random.pick(filters) ?? '';
}

const statuses = ['draft', 'published'];
const levels = ['all', 'all', 'all', 'ann', secret];

/** Makes the definitions, two accounts, and teams. Returns the ids of the accounts by name, and those of the teams. */
export async function makeWorld(
  ask: Ask,
  { random, password }: { readonly random: Random; readonly password: string },
): Promise<{ readonly users: ReadonlyMap<string, string>; readonly teams: readonly string[] }> {
  await ask('PATCH', `${collections}/users`, { listRule: '', viewRule: '', webhooks: { enabled: true } });
  await ask('PATCH', '/api/settings', { webhooks: { verifyAccountEndpoints: false } });
  const accounts = await ask('GET', `${collections}/users`);
  const team = await define(ask, 'teams', [{ name: 'isOpen', type: 'bool' }]);
  const ofTeam = { name: 'team', type: 'relation', collectionId: team, maxSelect: 1 };
  const user = { name: 'user', type: 'relation', collectionId: accounts.id, maxSelect: 1 };
  await define(ask, 'members', [ofTeam, user]);
  const fields = [
    { name: 'number', type: 'number' },
    { name: 'state', type: 'number' },
    { name: 'status', type: 'select', values: statuses, maxSelect: 1 },
    { name: 'level', type: 'select', values: [...new Set(levels)], maxSelect: 1 },
    ofTeam,
  ];
  await define(ask, 'posts', fields);
  await ask('PATCH', `${collections}/posts`, ruleOf(random));
  const users = new Map<string, string>();
  for (const name of names) {
    const body = { email: `${name}@example.com`, name, password, passwordConfirm: password };
    users.set(name, (await ask('POST', `${collections}/users/records`, body)).id);
  }
  const teams: string[] = [];
  for (let count = 0; count < 3; count += 1)
    teams.push((await ask('POST', `${collections}/teams/records`, { isOpen: count === 0 })).id);
  return { users, teams };
}

async function define(ask: Ask, name: string, fields: readonly object[]): Promise<string> {
  const rule = { listRule: '', viewRule: '' };
  return (await ask('POST', collections, { name, type: 'base', fields, ...rule })).id;
}

/** A post in any state. `state` is another each time, so that states can be told apart. */
export function postOf(random: Random, teams: readonly string[], state: number): object {
  return {
    state,
    number: random.integer(0, 100),
    status: random.pick(statuses),
    level: random.pick(levels),
    team: random.pick(['', ...teams]),
  };
}
