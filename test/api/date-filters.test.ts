// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { storedFilters } from '../../src/storage/migrations/stored-filters.ts';
import { runMigration } from '../support/run-migration.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const day = '2026-08-06 12:00:00.000Z';
/** The same moment, in layouts that date fields take. */
const layouts = [
  day,
  '2026-08-06T12:00:00.000Z',
  '2026-08-06T12:00:00Z',
  '2026-08-06 12:00:00',
  '2026-08-06T14:00:00+02:00',
  '2026-08-06 07:00:00.000-0500',
  'Thu, 06 Aug 2026 12:00:00 GMT',
  'Thu, 06 Aug 2026 14:00:00 +0200',
  '06 Aug 26 12:00 UTC',
];

describe('A24 a text beside a date field', () => {
  test('is the time that it means, in every layout and with every operator', async (t) => {
    const { list } = await setUp(t);
    for (const text of layouts) {
      for (const operator of ['=', '<=', '>=', '?=', '?<=', '?>=']) {
        assert.deepEqual(await list(`at ${operator} '${text}' && n = 2`), [2], `${operator} ${text}`);
        assert.deepEqual(await list(`"${text}" ${operator} at && at ~ '2026-08-06'`), [2], text);
      }
      assert.deepEqual(await list(`at < '${text}' && at != ''`), [1]);
      assert.deepEqual(await list(`at > '${text}'`), [3]);
      assert.deepEqual(await list(`at != '${text}'`), [1, 3, 4]);
    }
    assert.deepEqual(await list("at >= '2026-08' && at < '2026-09'"), [2]);
    assert.deepEqual(await list("at >= '2026' && at < '2027'"), [1, 2, 3]);
    assert.deepEqual(await list("at = '2026'"), [1]);
    assert.deepEqual(await list("created > '2026-01-01T00:00:00+02:00' && created <= @now"), [1, 2, 3, 4]);
    assert.deepEqual(await list("at = ''"), [4]);
    assert.deepEqual(await list("at ~ '2026-08-06T12'"), []);
    assert.deepEqual(await list("at !~ '2026-08'"), [1, 3, 4]);
  });

  test('is refused with its position where it is no time, in whatever order requests come', async (t) => {
    const { service, list, ask } = await setUp(t);
    for (const text of [
      'tomorrow',
      '07.01.2024',
      '2024-1-7',
      '2023-02-30',
      '2026-13',
      '25:00',
      '1699999999',
    ]) {
      assert.deepEqual(await list(`n > 0 && at >= '2026-08-06'`), [2, 3]);
      const answer = await ask(`n > 0 && at >= '${text}'`);
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.json.message, /Expected a time .* beside a date and found ".*" at position 15\.$/);
      assert.equal(answer.json.data.filter.params.position, 15);
      const rule = { method: 'PATCH', token: true, body: { listRule: `at ?!= "${text}"` } } as const;
      const refused = await service.request('/api/collections/things', rule);
      assert.deepEqual([refused.status, refused.json.data.listRule.code], [400, 'validation_invalid_rule']);
      const body = { url: 'https://example.com/', filter: `at > '${text}'`, collections: ['things'] };
      const endpoint = await service.request('/api/webhooks/endpoints', {
        method: 'POST',
        token: true,
        body,
      });
      assert.equal(endpoint.status, 400, endpoint.text);
      assert.ok(endpoint.json.data.filter !== undefined, endpoint.text);
    }
    assert.equal((await ask(`at < '${'9'.repeat(300)}'`)).status, 400);
  });

  test('that came as a part of the request is a time where it can be one, and never an error', async (t) => {
    const { service } = await setUp(t);
    const rule = { listRule: 'at = @request.query.at', createRule: '@request.body.note = at' };
    await service.request('/api/collections/things', { method: 'PATCH', token: true, body: rule });
    const numbers = async (at: string): Promise<unknown> =>
      numbersOf(await service.request(`/api/records/things?at=${encodeURIComponent(at)}`));
    for (const text of layouts) assert.deepEqual(await numbers(text), [2], text);
    for (const text of ['tomorrow', '2023-02-30', "'", '\\']) assert.deepEqual(await numbers(text), [], text);
    const create = (body: unknown): Promise<TestAnswer> =>
      service.request('/api/records/things', { method: 'POST', body });
    assert.equal((await create({ at: day, note: '2026-08-06T14:00:00+02:00' })).status, 201);
    assert.equal((await create({ at: day, note: 'tomorrow' })).status, 400);
  });

  test('in a rule that was stored before is compared as a text, and listed after the upgrade', async (t) => {
    const { service: older } = await setUp(t);
    const listRule = "at > 'notadate' || at >= '2026-08-06T12:00:00+02:00'";
    const filter = "at > '07.01.2024'";
    const body = { url: 'https://example.com/', filter: 'at > "2024"', collections: ['things'] };
    const made = await older.request('/api/webhooks/endpoints', { method: 'POST', token: true, body });
    assert.equal(made.status, 201, made.text);
    await storeBefore(older, { listRule, filter });
    await older.stop();

    const service = await startService(t, { data: older.data });
    assert.deepEqual(numbersOf(await service.request('/api/records/things')), [2, 3]);
    const audit = await service.request(
      `/api/audit?filter=${encodeURIComponent("action='filter.unreadable'")}`,
      {
        token: true,
      },
    );
    const entries: readonly { collection: string; details: { name: string; text: string } }[] =
      audit.json.items;
    const texts = Object.fromEntries(entries.map(({ details: { name, text } }) => [name, text]));
    assert.deepEqual(texts, { filter, listRule });
    const logged = service.log.filter(({ message }) => message.includes('invalid time'));
    assert.equal(logged.length, 2);
    // Other changes of the definition and the endpoint are not refused for what was stored before.
    const change = { method: 'PATCH', token: true } as const;
    const collection = { ...change, body: { listRule, viewRule: '' } };
    assert.equal((await service.request('/api/collections/things', collection)).status, 200);
    const path = `/api/webhooks/endpoints/${made.json.id}`;
    assert.equal((await service.request(path, { ...change, body: { description: 'x' } })).status, 200);
    const other = { ...change, body: { viewRule: "at > 'notadate'" } };
    assert.equal((await service.request('/api/collections/things', other)).status, 400);
    await service.stop();
    const again = await startService(t, { data: older.data });
    assert.deepEqual(
      again.log.filter(({ message }) => message.includes('invalid time')),
      [],
    );
  });
});

/** Stores a rule and an endpoint's filter that could not be saved, as if by a version before the upgrade. */
async function storeBefore(
  service: TestService,
  { listRule, filter }: { readonly listRule: string; readonly filter: string },
): Promise<void> {
  await service.withInstance('default', async ({ database }) => {
    const collections = database.names.table('$collection');
    const row = await database.get(sql`SELECT definition FROM ${collections} WHERE name = 'things'`);
    const definition = JSON.parse(String(row?.['definition']));
    definition.rules.listRule = listRule;
    await database.write(async (tx) => {
      await tx.run(
        sql`UPDATE ${collections} SET definition = ${JSON.stringify(definition)} WHERE name = 'things'`,
      );
      await tx.run(sql`UPDATE ${database.names.table('$endpoint')} SET filter = ${filter}`);
      await runMigration(tx, storedFilters);
    });
  });
}

interface Stage {
  readonly service: TestService;
  readonly ask: (filter: string) => Promise<TestAnswer>;
  /** The numbers of the records that a filter selects. */
  readonly list: (filter: string) => Promise<readonly number[]>;
}

async function setUp(t: TestContext): Promise<Stage> {
  const service = await startService(t);
  const fields = [
    { name: 'n', type: 'number' },
    { name: 'at', type: 'date' },
    { name: 'note', type: 'text' },
    { name: 'created', type: 'autodate', onCreate: true },
  ];
  const made = await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'things', listRule: '', fields },
  });
  assert.equal(made.status, 200, made.text);
  for (const [index, at] of ['2026-01-01', day, '2026-12-31 23:59:59.999Z', ''].entries())
    await service.request('/api/records/things', { method: 'POST', token: true, body: { n: index + 1, at } });
  const ask = (filter: string): Promise<TestAnswer> =>
    service.request(`/api/records/things?sort=n&filter=${encodeURIComponent(filter)}`);
  return { service, ask, list: async (filter) => numbersOf(await ask(filter)) };
}

function numbersOf(answer: TestAnswer): readonly number[] {
  assert.equal(answer.status, 200, answer.text);
  const items: readonly { readonly n: number }[] = answer.json.items;
  return items.map(({ n }) => n).toSorted((one, other) => one - other);
}
