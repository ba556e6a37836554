// Both engines: matches are counted in rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { readMatches } from '../../src/deliveries/log/endpoint-matches.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { type Json, startWebhookService } from '../support/webhook-service.ts';

const hourMs = 3_600_000;
const endpoints = '/api/webhooks/endpoints';

test('an endpoint says when it last matched, how often in a day, and whether its filter never did', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  const add = async (settings: object): Promise<string> =>
    (await service.addEndpoint({ status: 'paused', collections: ['posts'], ...settings })).id;
  const ask = async (id: string): Promise<unknown> => {
    const stats: Json = await service.call('GET', `${endpoints}/${id}/stats`);
    return [stats.lastMatch, stats.matches, stats.isNeverMatched];
  };
  const all = await add({});
  const never = await add({ filter: 'title = "none"' });
  const some = await add({ filter: 'title = "a"' });
  const elsewhere = await add({ filter: 'email = "none"', collections: ['users'] });
  const deletes = await add({ filter: 'title = "none"', events: ['record.delete'] });
  // Nothing has happened yet that it could have matched.
  assert.deepEqual(await ask(never), ['', 0, false]);
  const warned = async (id: string): Promise<unknown> =>
    (await service.call('GET', `${endpoints}/${id}`)).warnings ?? [];
  const listed = async (): Promise<unknown> =>
    (await service.call('GET', '/api/webhooks/stats')).neverMatched;
  const active = await add({ filter: 'title = "none"', status: 'active' });
  assert.deepEqual([await warned(never), await listed()], [[], []]);
  clock.move(1_000);
  await service.addPost('a');
  const first = '2026-11-20 09:35:21.114Z';
  assert.deepEqual(await ask(all), [first, 1, false]);
  assert.deepEqual(await ask(never), ['', 0, true]);
  assert.deepEqual(await ask(some), [first, 1, false]);
  for (const id of [elsewhere, deletes]) assert.deepEqual(await ask(id), ['', 0, false]);
  const warning =
    'The filter has matched no change since the endpoint was created, although there were changes in its collections.';
  assert.deepEqual(
    [await warned(never), await warned(active), await listed()],
    [[warning], [warning], [active]],
  );
  for (const id of [all, some, elsewhere, deletes]) assert.deepEqual(await warned(id), []);
  // A test is no match.
  await service.call('POST', `${endpoints}/${never}/test`, { body: {} });
  assert.deepEqual(await ask(never), ['', 0, true]);
  clock.move(25 * hourMs);
  await service.signIn();
  await service.addPost('b');
  const second = '2026-11-21 10:35:21.114Z';
  assert.deepEqual(await ask(all), [second, 1, false]);
  assert.deepEqual(await ask(some), [first, 0, false]);
  await service.withInstance('default', async (instance) => {
    const endpoint = await instance.endpoints.find(instance.database, all);
    assert.ok(endpoint !== undefined);
    const { matches, matchesIsAtLeast, lastMatch } = await readMatches(instance.database, endpoint, {
      now: clock.now(),
      max: 1,
    });
    assert.deepEqual([matches, matchesIsAtLeast, lastMatch], [1, true, second]);
    const { names } = instance.database;
    // As if what was attempted before had been trimmed.
    await instance.database.write(async (tx) => {
      await tx.run(sql`
        INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value)
        VALUES (${names.instance.value}'trimmed', ${'1 2026-11-20 09:40:00.000Z'})`);
      const hour = Date.UTC(2026, 10, 20, 9) / hourMs;
      await tx.run(sql`
        INSERT INTO ${names.table('$endpoint_hour')} (${names.instance.column}endpoint, hour, result, latency, count)
        SELECT ${names.instance.value}position, ${hour}, 'success', 1, 1 FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND id = ${never}`);
    });
  });
  assert.deepEqual(await ask(never), ['', 0, false]);
});
