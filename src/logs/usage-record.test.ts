// Both engines: several processes add to the same rows.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { MovableClock } from '../../test/support/movable-clock.ts';
import { startService } from '../../test/support/service.ts';
import type { Database } from '../storage/database.ts';
import { addUsage, rollUpUsage } from './add-usage.ts';
import { readTopUsage, readUsage, type Usage } from './read-usage.ts';
import { UsageRecord, type UsageRecordOptions } from './usage-record.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Noon. */
const now = Date.UTC(2026, 10, 20, 12);

async function openControl(t: TestContext): Promise<Database> {
  const { app } = await startService(t);
  return app.data.home.control;
}

function withoutZeros({ instance, at, ...counts }: Usage): readonly unknown[] {
  return [
    instance,
    at.slice(0, 13),
    Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0 && count !== null)),
  ];
}

const everything = { from: 0, to: now + 2 * dayMs } as const;
const logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

test('what two processes count for an hour is added up, of gauges the largest', async (t) => {
  const control = await openControl(t);
  await addUsage(control, new Map([['one', { requests: 3, records: 7, realtimeConnections: 2 }]]), now);
  const later = new Map([
    ['one', { requests: 4, sentBytes: 10, records: 5 }],
    ['two', { writes: 1, realtimeConnections: 9 }],
  ]);
  await addUsage(control, later, now + hourMs - 1);
  await addUsage(control, new Map([['one', { requests: 1, dataBytes: 4_096 }]]), now + hourMs);
  const hours = await readUsage(control, { ...everything, step: 'hour' });
  assert.deepEqual(hours.map(withoutZeros), [
    ['one', '2026-11-20 12', { requests: 7, sentBytes: 10, realtimeConnections: 2, records: 7 }],
    ['two', '2026-11-20 12', { writes: 1, realtimeConnections: 9 }],
    ['one', '2026-11-20 13', { requests: 1, dataBytes: 4_096 }],
  ]);
  assert.deepEqual([hours[1]?.records, hours[1]?.requests], [null, 0]);
  const days = await readUsage(control, { ...everything, step: 'day', instance: 'one' });
  assert.deepEqual(days.map(withoutZeros), [
    [
      'one',
      '2026-11-20 00',
      { requests: 8, sentBytes: 10, realtimeConnections: 2, records: 7, dataBytes: 4_096 },
    ],
  ]);
  const range = { from: now + hourMs, to: now + 2 * hourMs };
  assert.equal((await readUsage(control, { ...range, step: 'hour' })).length, 1);
  const top = await readTopUsage(control, everything, { by: 'requests', max: 1 });
  assert.deepEqual(
    top.map(({ instance, requests }) => [instance, requests]),
    [['one', 8]],
  );
});

test('hours become days after 35 days and are read as before, and days go after 25 months', async (t) => {
  const control = await openControl(t);
  const old = now - 36 * dayMs;
  for (const at of [old, old + hourMs, old + dayMs, now, now - 763 * dayMs])
    await addUsage(control, new Map([['one', { requests: 1, records: 5 }]]), at);
  const read = async (step: 'hour' | 'day'): Promise<readonly number[]> =>
    (await readUsage(control, { ...everything, step })).map(({ requests }) => requests);
  assert.deepEqual(
    [await read('hour'), await read('day')],
    [
      [1, 1, 1, 1, 1],
      [1, 2, 1, 1],
    ],
  );
  await Promise.all([rollUpUsage(control, now), rollUpUsage(control, now)]);
  assert.deepEqual(
    [await read('hour'), await read('day')],
    [
      [1, 1],
      [2, 1, 1],
    ],
  );
  // A process that was late adds to a day that is there already.
  await addUsage(control, new Map([['one', { requests: 10 }]]), old);
  await rollUpUsage(control, now);
  assert.deepEqual(
    [await read('hour'), await read('day')],
    [
      [1, 1],
      [12, 1, 1],
    ],
  );
});

test('a record writes what is new since the last time, and again what could not be written', async (t) => {
  const control = await openControl(t);
  const clock = new MovableClock(now);
  const counts = new Map([['one', { requests: 5, events: 2 }]]);
  const measured: number[] = [];
  const options: UsageRecordOptions = {
    control,
    clock,
    logger,
    sources: [() => counts, () => new Map([['two', { deliveries: 1 }]])],
    connections: () => new Map([['one', 3]]),
    measure: (except) => {
      measured.push(except.size);
      return Promise.resolve(
        except.has('one') ? new Map() : new Map([['one', { records: 9, dataBytes: 100 }]]),
      );
    },
  };
  const record = new UsageRecord(options);
  await record.write();
  await record.write();
  counts.set('one', { requests: 6, events: 2 });
  clock.move(hourMs);
  await record.write();
  const hours = (await readUsage(control, { ...everything, step: 'hour' })).map(withoutZeros);
  const gauges = { realtimeConnections: 3, records: 9, dataBytes: 100 };
  assert.deepEqual(hours, [
    ['one', '2026-11-20 12', { requests: 5, events: 2, ...gauges }],
    ['two', '2026-11-20 12', { deliveries: 1 }],
    ['one', '2026-11-20 13', { requests: 1, ...gauges }],
  ]);
  assert.deepEqual(measured, [0, 1, 0]);
  let isBroken = true;
  const failing = Object.assign(Object.create(control), {
    names: control.names,
    write: (...write: Parameters<Database['write']>) =>
      isBroken ? Promise.reject(new Error('away')) : control.write(...write),
  });
  const other = new UsageRecord({
    control: failing,
    clock,
    logger,
    sources: [() => new Map([['three', { requests: 1 }]])],
  });
  await assert.rejects(() => other.write(), /away/);
  isBroken = false;
  await other.write();
  const three = await readUsage(control, { ...everything, step: 'hour', instance: 'three' });
  assert.deepEqual(
    three.map(({ requests }) => requests),
    [1],
  );
});
