// Both engines: the record is a row of the control database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LongTurnRecord, readReports, reportLines } from '../../src/hosts/long-turn-record.ts';
import type { Clock } from '../../src/base/clock.ts';
import { startService } from '../support/service.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function clockAt(ms: number): Clock & { advance(byMs: number): void } {
  return { now: () => ms, monotonic: () => ms, advance: (byMs) => void (ms += byMs) };
}

test('long turns of the last hour are recorded by instance, with the longest and its route', async (t) => {
  const { app } = await startService(t);
  const { control } = app.data.home;
  const { directory } = app.data;
  const clock = clockAt(Date.UTC(2026, 0, 1));
  const id = directory.findBySlug('default')?.id ?? '';
  const apart: string[] = [];
  const record = new LongTurnRecord({ control, directory, clock, logger: silent, apart: () => apart });
  await record.write();
  assert.deepEqual(await readReports(control), []);
  const turn = { instance: id, route: 'listRecords', ms: 120.4, instanceMs: 100 };
  record.note(turn);
  record.note({ ...turn, route: 'createRecord', ms: 310.2 });
  record.note({ ...turn, instance: 'gone' });
  apart.push(id);
  await record.write();
  const [report] = await readReports(control);
  assert.ok(report !== undefined);
  assert.deepEqual(reportLines(report), [
    'default: 2 long turns within an hour, the longest 310 ms (createRecord).',
    'gone: 1 long turn within an hour, the longest 120 ms (listRecords).',
    'Run apart from the others: default.',
  ]);
  apart.pop();
  clock.advance(3_600_001);
  await record.write();
  assert.deepEqual((await readReports(control)).flatMap(reportLines), []);
});

test('each node has a record of its own, and those of nodes that have ended are removed after a day', async (t) => {
  const { app } = await startService(t);
  const { control } = app.data.home;
  const { directory } = app.data;
  const clock = clockAt(Date.UTC(2026, 0, 1));
  const turn = { instance: 'shop', route: 'listRecords', ms: 120, instanceMs: 100 };
  const recordOf = (node: string): LongTurnRecord =>
    new LongTurnRecord({ control, directory, clock, logger: silent, node });
  const [one, two] = [recordOf('one'), recordOf('two')];
  one.note(turn);
  await one.write();
  clock.advance(23 * 3_600_000);
  two.note(turn);
  await two.write();
  assert.deepEqual(
    (await readReports(control)).map(({ node }) => node),
    ['one', 'two'],
  );
  clock.advance(2 * 3_600_000);
  two.note(turn);
  two.note(turn);
  await two.write();
  assert.deepEqual(
    (await readReports(control)).map(({ node }) => node),
    ['two'],
  );
});
