import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { type AccessCase, accessCases, type AccessRequest } from '../support/access-cases.ts';
import { AccessStage, type Role, roles } from '../support/access-stage.ts';
import { assertSameRows } from '../support/assert-same-rows.ts';
import { routerTable } from '../support/router-table.ts';
import type { TestAnswer } from '../support/service.ts';

/** The statuses that each role is answered, by route and by what is asked for. */
interface AccessTable {
  readonly roles: readonly Role[];
  readonly routes: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
}

const table = JSON.parse(
  readFileSync(new URL('../../spec/access.json', import.meta.url), 'utf8'),
) as AccessTable; // Our own file, whose form the tests below look at.

describe('spec/access.json', () => {
  test('has a row for every route that there is, with a case that asks for it, and no others', async (t) => {
    const { service } = await AccessStage.start(t);
    const routes = routerTable(service.app);
    assertSameRows(namesOf(Object.keys(table.routes)), namesOf(routes), 'routes in spec/access.json');
    const asked = accessCases.map(({ route }) => route);
    assertSameRows(namesOf(asked), namesOf(routes), 'routes in test/support/access-cases.ts');
    const rows = Object.entries(table.routes).flatMap(([route, kinds]) =>
      Object.keys(kinds).map((of) => nameOf({ route, of })),
    );
    assertSameRows(namesOf(rows), namesOf(accessCases.map(nameOf)), 'rows of spec/access.json');
  });

  test('has a status for every role', () => {
    assert.deepEqual(table.roles, roles);
    for (const [route, rows] of Object.entries(table.routes))
      for (const [of, statuses] of Object.entries(rows))
        assert.equal(statuses.length, roles.length, `statuses of ${nameOf({ route, of })}`);
  });

  test('gives no more to whoever belongs to another instance than to a guest', () => {
    const at = (role: Role): number => roles.indexOf(role);
    for (const [route, rows] of Object.entries(table.routes))
      for (const statuses of Object.values(rows))
        for (const role of ['userElsewhere', 'superuserElsewhere'] as const)
          assert.equal(statuses[at(role)], statuses[at('guest')], `${route} by ${role}`);
  });
});

test('each role is answered what spec/access.json says, and who is refused has changed nothing', async (t) => {
  const stage = await AccessStage.start(t);
  const answered = new Map<AccessCase, readonly number[]>();
  for (const one of accessCases) answered.set(one, await statusesOf(stage, one));
  for (const [index, role] of roles.entries())
    await t.test(`a ${role}`, () => {
      // The test above names the cases without a row.
      const cases = accessCases.filter(({ route, of }) => table.routes[route]?.[of] !== undefined);
      const expected = cases.map((one) => [nameOf(one), table.routes[one.route]?.[one.of]?.[index]]);
      const statuses = cases.map((one) => [nameOf(one), answered.get(one)?.[index]]);
      const title = `statuses that a ${role} is answered`;
      assertSameRows(Object.fromEntries(statuses), Object.fromEntries(expected), title);
    });
});

describe('what everybody may ask for', () => {
  test('shows to each role what is its own', async (t) => {
    const stage = await AccessStage.start(t);
    await stage.note();
    const shown = await Promise.all(
      roles.map(async (role) => {
        const ask = async (path: string): Promise<TestAnswer['json']> =>
          (await stage.ask(role, 'GET', { path })).json;
        const notes = await ask('/api/collections/notes/records');
        const accounts = await ask('/api/collections/users/records');
        const health = await ask('/api/health');
        const document = await ask('/api/openapi.json');
        const isDetailed = Object.keys(health.data).length > 0;
        const hasCollections = JSON.stringify(document).includes('notes');
        return [role, notes.totalItems, accounts.totalItems, isDetailed, hasCollections];
      }),
    );
    assert.deepEqual(shown, [
      ['guest', 0, 0, false, false],
      ['user', 1, 1, false, false],
      ['other', 0, 1, false, false],
      ['manager', 0, 1, false, false],
      ['superuser', 1, 3, true, true],
      ['userElsewhere', 0, 0, false, false],
      ['superuserElsewhere', 0, 0, false, false],
      ['readKey', 1, 3, false, false],
      ['boundKey', undefined, undefined, false, false],
      ['wideKey', 1, 3, false, true],
      ['adminKey', 1, 3, true, true],
      ['revokedKey', undefined, undefined, false, false],
      ['operatorKey', undefined, undefined, false, false],
      ['operatorReader', undefined, undefined, false, false],
      ['portalSession', undefined, undefined, false, false],
    ]);
  });
});

function namesOf(names: readonly string[]): Readonly<Record<string, true>> {
  return Object.fromEntries(names.map((name) => [name, true] as const));
}

function nameOf({ route, of }: Pick<AccessCase, 'route' | 'of'>): string {
  return of === '' ? route : `${route} (${of})`;
}

/** Lets every role make the request of a case. A target that a refused request has left as it was is that of the next role too. */
async function statusesOf(stage: AccessStage, one: AccessCase): Promise<readonly number[]> {
  const [method = '', pattern = ''] = one.route.split(' ');
  const shape = new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}(?:\\?.*)?$`);
  const statuses: number[] = [];
  let target:
    { readonly request: AccessRequest; readonly rows: Awaited<ReturnType<AccessStage['rows']>> } | undefined;
  for (const role of roles) {
    if (target === undefined) {
      const request = await one.request(stage);
      assert.match(request.path, shape, 'the case asks for the route that it names');
      target = { request, rows: method === 'GET' ? {} : await stage.rows() };
    }
    const { request, rows } = target;
    const { status } = await stage.ask(role, method, request);
    statuses.push(status);
    if (method === 'GET') {
      const head = await stage.ask(role, 'HEAD', request);
      assert.equal(head.status, status, `HEAD of ${request.path} by ${role}`);
    } else if (status >= 400)
      assertSameRows(await stage.rows(), rows, `${nameOf(one)} by ${role} has changed something`);
    if ((method !== 'GET' && status < 400) || one.isCounted) target = undefined;
  }
  return statuses;
}
