// Both engines: comparisons are asked in SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../src/base/clock.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { QueryTimeout } from '../../src/storage/engine-errors.ts';
import { FaultyDatabase } from '../support/faulty-database.ts';
import { type Json, listOf } from '../support/webhook-service.ts';
import { falseIn, startWhyStage } from '../support/why-stage.ts';

const endpoints = '/api/webhooks/endpoints';

/** Its monotonic time can be moved on. */
class PassingClock implements Clock {
  #passedMs = 0;

  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now() + this.#passedMs;
  }

  pass(ms: number): void {
    this.#passedMs += ms;
  }
}

test('what takes too long to ask is unknown, and a page ends when its time is used up', async (t) => {
  const clock = new PassingClock();
  const databases: FaultyDatabase[] = [];
  const wrapDatabase = (database: Database): Database => {
    const faulty = new FaultyDatabase(database);
    databases.push(faulty);
    return faulty;
  };
  const stage = await startWhyStage(t, { parts: { wrapDatabase, clock } });
  const made: string[] = [];
  for (let number = 0; number < 70; number += 1)
    made.push((await stage.addEndpoint({ filter: `rank = ${number + 100}`, status: 'paused' })).id);
  await stage.addPost();
  for (const database of databases)
    database.searchFault = ({ values }) =>
      values.some((value) => value === 105) ? new QueryTimeout() : undefined;
  const all = await stage.why();
  assert.deepEqual(
    all.map(({ reason }) => reason),
    made.map((_, index) => (index === 5 ? 'unknown' : 'filter')),
  );
  for (const database of databases)
    database.searchFault = ({ text }) => {
      if (text.includes('$before')) clock.pass(1_500);
      return undefined;
    };
  const path = `/api/webhooks/events/${await stage.lastEvent()}/why?perPage=500&cursor=`;
  const pages: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: Json = await stage.call('GET', path + encodeURIComponent(cursor));
    pages.push(listOf(page.items).map(({ endpoint }) => endpoint));
    cursor = page.nextCursor;
  }
  assert.deepEqual(pages.flat(), made);
  assert.deepEqual(
    pages.map(({ length }) => length),
    [32, 32, 6],
  );
  await stage.call('GET', `${path}nonsense`, { status: 400 });
});

test('what was changed since is named, as far as the audit log and the event go back', async (t) => {
  const stage = await startWhyStage(t);
  const { id } = await stage.addEndpoint({ filter: 'rank > 5' });
  await stage.addPost();
  const ask = async (): Promise<readonly unknown[]> => {
    const { reason, changed, isWhole, comparisons } = await stage.whyOf(id);
    return [reason, changed, isWhole, listOf(comparisons).length];
  };
  assert.deepEqual(await ask(), ['filter', [], true, 1]);
  const change = (body: object): Promise<Json> => stage.call('PATCH', `${endpoints}/${id}`, { body });
  await change({ description: 'of no matter' });
  assert.deepEqual(await ask(), ['filter', [], true, 1]);
  await change({ filter: 'rank > 7', events: ['record.create'] });
  assert.deepEqual(await ask(), ['filter', ['events', 'filter'], true, 1]);
  await change({ collections: ['users'], filter: '' });
  assert.deepEqual(await ask(), ['other-collections', ['events', 'collections', 'filter'], true, 0]);
  const { fields } = await stage.call('GET', '/api/collections/posts');
  await stage.call('PATCH', '/api/collections/posts', {
    body: { fields: [...fields, { name: 'level', type: 'text' }] },
  });
  await change({ collections: ['posts'], filter: 'rank = 0 && level = "high"' });
  const line = await stage.whyOf(id);
  assert.deepEqual([line.reason, line.isWhole], ['filter', false]);
  assert.deepEqual(falseIn(line), [['level = "high"', [''], ['high']]]);
  await stage.withInstance('default', ({ database }) =>
    database.write((tx) =>
      tx.run(sql`DELETE FROM ${tx.names.table('$audit')} WHERE ${tx.names.instance.condition}`),
    ),
  );
  assert.equal((await stage.whyOf(id)).changed, null);
  await change({ filter: 'rank = 0' });
  await stage.withInstance('default', ({ database }) =>
    database.write((tx) =>
      tx.run(sql`DELETE FROM ${tx.names.table('$audit')} WHERE ${tx.names.instance.condition}`),
    ),
  );
  assert.deepEqual((await ask()).slice(0, 2), ['changed', null]);
});
