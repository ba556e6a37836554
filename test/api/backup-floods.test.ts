// Both engines: jobs wait and are claimed in transactions of each.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { JobStore } from '../../src/backups/job-store.ts';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import { startService, type TestAnswer } from '../support/service.ts';

const count = 20;

test('twenty backups of twenty instances that are requested at once are all made, two at a time', async (t) => {
  const service = await startService(t);
  const { directory, home, dueClock } = service.app.data;
  const slugs = Array.from({ length: count }, (_, at) => `shop-${at}`);
  for (const slug of slugs) await directory.create(slug, null);
  const { key } = await makeOperatorKey(service);
  const call = operatorCaller(service, key);
  const jobs = new JobStore(home.background, dueClock);
  const [running, health]: [number[], number[]] = [[], []];
  const isOver = new AbortController();
  const watching = (async () => {
    while (!isOver.signal.aborted) {
      running.push((await jobs.listOpen()).filter(({ state }) => state === 'running').length);
      health.push((await service.request('/api/health')).status);
      await sleep(50);
    }
  })();
  await Promise.all(slugs.map((slug) => call(204, `POST /instances/${slug}/backups`)));
  isOver.abort();
  await watching;
  assert.ok(Math.max(...running) <= 2, `${Math.max(...running)} at once`);
  assert.deepEqual(new Set(health), new Set([200]));
  for (const slug of slugs) {
    const id = directory.findBySlug(slug)?.shownId ?? '';
    assert.equal(readdirSync(join(service.data, 'backups', id)).length, 1, slug);
  }
});

test('of twenty backups of one instance that are requested at once one is made, and the others are refused in words', async (t) => {
  const service = await startService(t);
  const create = (name: string): Promise<TestAnswer> =>
    service.request('/api/backups', { method: 'POST', token: true, body: { name } });
  const answers = await Promise.all(Array.from({ length: count }, (_, at) => create(`b${at}.zip`)));
  const made = answers.filter(({ status }) => status === 204);
  assert.equal(made.length, 1);
  for (const { status, json } of answers.filter((answer) => answer.status !== 204))
    assert.match(`${status} ${json.message}`, /^400 Try again later - another backup\/restore process/);
  assert.equal((await service.request('/api/backups', { token: true })).json.length, 1);
  // One name that twenty want is one backup.
  const same = await Promise.all(Array.from({ length: count }, () => create('same.zip')));
  assert.equal(same.filter(({ status }) => status === 204).length, 1);
  assert.equal((await create('same.zip')).status, 400);
  const partial = join(service.data, 'backups', '.partial');
  assert.deepEqual(existsSync(partial) ? readdirSync(partial) : [], []);
});
