import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeEngines } from '../../../test/support/engines.ts';
import { insertEvents, openLogDatabase, range } from '../../../test/support/log-rows.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { noteTrimmed } from '../../events/trimmed.ts';
import type { Database } from '../../storage/database.ts';
import { averageEventsPerDay, countEventsBySteps } from './count-events.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** An hour of the log in these tests: 2026-11-20 12:00. */
const noon = Date.parse('2026-11-20T12:00:00.000Z');
const noonHour = noon / hourMs;
const all = { events: ['record.create'], collections: [] } as const;

/** Inserts events at these times, in their order. */
async function tell(database: Database, times: readonly number[]): Promise<void> {
  const first = 1;
  await insertEvents(
    database,
    times.map((created, index) => ({ position: first + index, id: `event${index}`, created })),
  );
}

describeEngines('counts of events', (open) => {
  test('the average covers matching events of the last seven days', async (t) => {
    const database = await openLogDatabase(t, open);
    await tell(database, [noon - 8 * dayMs, ...range(1, 14).map((half) => noon - 7 * dayMs + half * 1_000)]);
    const averageOf = (endpoint: Parameters<typeof averageEventsPerDay>[1]): Promise<number> =>
      averageEventsPerDay(database, endpoint, { now: noon });
    assert.equal(await averageOf(all), 2);
    assert.equal(await averageOf({ ...all, collections: ['c'] }), 2);
    assert.equal(await averageOf({ ...all, collections: ['another'] }), 0);
    assert.equal(await averageOf({ ...all, events: ['record.update'] }), 0);
  });

  test('the average covers the newest events where the log has more than the limit', async (t) => {
    const database = await openLogDatabase(t, open);
    await tell(database, [...range(1, 6).map(() => noon - 3 * dayMs), noon - 2 * dayMs, noon - dayMs]);
    const averageOf = (eventsMax: number, now = noon): Promise<number> =>
      averageEventsPerDay(database, all, { now, eventsMax });
    assert.equal(await averageOf(2), 1);
    assert.equal(await averageOf(100), 1.1);
    // Of an hour at least: a burst is not taken for what happens all day.
    assert.equal(await averageOf(1, noon - dayMs + 1), 24);
  });

  test('the average covers the age of the log', async (t) => {
    const database = await openLogDatabase(t, open);
    await tell(database, [noon - 3 * dayMs, noon - dayMs, noon - dayMs]);
    await database.write((tx) => noteTrimmed(tx, { position: 1, time: toTimestamp(noon - 2 * dayMs) }));
    assert.equal(await averageEventsPerDay(database, all, { now: noon }), 1);
  });

  test('events are counted by hours and by days, within their range', async (t) => {
    const database = await openLogDatabase(t, open);
    await tell(database, [noon - 2 * hourMs, noon - hourMs, noon - 1, noon, noon + hourMs]);
    const byHour = { start: noonHour - 2, end: noonHour + 1, hours: 1 };
    assert.deepEqual(await countEventsBySteps(database, byHour), [1, 2, 1]);
    const byDay = { start: noonHour - 36, end: noonHour + 12, hours: 24 };
    assert.deepEqual(await countEventsBySteps(database, byDay), [0, 5]);
  });

  test('a step is null when some of its events were trimmed or exceed the limit', async (t) => {
    const database = await openLogDatabase(t, open);
    await tell(database, [noon - 3 * hourMs, noon - 2 * hourMs, noon - 2 * hourMs, noon - hourMs, noon]);
    const byHour = { start: noonHour - 3, end: noonHour + 1, hours: 1 };
    assert.deepEqual(await countEventsBySteps(database, byHour, 3), [null, null, 1, 1]);
    await database.write((tx) => noteTrimmed(tx, { position: 1, time: toTimestamp(noon - 3 * hourMs) }));
    assert.deepEqual(await countEventsBySteps(database, byHour), [null, 2, 1, 1]);
  });
});
