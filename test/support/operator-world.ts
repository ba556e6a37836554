import assert from 'node:assert/strict';
import { JobStore } from '../../src/backups/job-store.ts';
import { ScheduleStore } from '../../src/backups/schedule-store.ts';
import { withDataDirectory } from '../../src/cli/api/with-instance.ts';
import { readConfig } from '../../src/config/config.ts';
import { addUsage, usageLimits } from '../../src/logs/add-usage.ts';
import type { BrowserStage } from './browser-stage.ts';
import { runInProcess } from './run-in-process.ts';

/** Makes an operator key beside the running server, by the command that the screens name. */
export async function makeDeskKey({ data }: Pick<BrowserStage, 'data'>, scopes = 'admin'): Promise<string> {
  const command = ['operator', 'key', 'create', 'desk', '--scopes', scopes, '--data', data];
  const { stdout, stderr } = await runInProcess(command);
  const [key] = /co_\w+/.exec(stdout) ?? [];
  assert.ok(key !== undefined, stderr);
  return key;
}

/** What tests look at of answers, which are JSON of any shape. */
interface OperatorAnswer {
  readonly id: string;
  /** Of a sign-in link. */
  readonly token: string;
}

/** Makes a request with an operator key, and fails unless it succeeds. */
export async function callAsOperator(
  { url }: Pick<BrowserStage, 'url'>,
  key: string,
  { method = 'GET', path, body }: { method?: string; path: string; body?: object },
): Promise<OperatorAnswer> {
  const answer = await fetch(`${url}/api/operator${path}`, {
    method,
    headers: { authorization: key, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  // Whoever looks at a member has called a route whose answer has it.
  return JSON.parse(text === '' ? '{}' : text) as OperatorAnswer;
}

/** Instances of several kinds, with usage, quotas, backups and what went wrong. Returns the id of one that has all of it, and of a deleted one. */
export async function makeOperatorWorld(
  stage: Pick<BrowserStage, 'url' | 'data'>,
  key: string,
): Promise<{ readonly acme: string; readonly deleted: string }> {
  const create = async (slug: string, more: object = {}): Promise<string> =>
    (await callAsOperator(stage, key, { method: 'POST', path: '/instances', body: { slug, ...more } })).id;
  const labels = { plan: 'pro', customer: '4711', region: 'eu' };
  const notes = { name: 'notes', type: 'base', createRule: '', fields: [{ name: 'title', type: 'text' }] };
  const quotas = {
    records: 5,
    collections: 2,
    dataBytes: 2 ** 30,
    fileBytes: 2 ** 32,
    requestsPerSecond: 50,
  };
  const superuser = { email: 'ada@acme.example', password: 'correct horse' };
  const acme = await create('acme', { labels, quotas, host: null, collections: [notes], superuser });
  for (let count = 0; count < 4; count += 1)
    await fetch(`${stage.url}/i/acme/api/collections/notes/records`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"title":"x"}',
    });
  const names = ['harbour-bakery', 'northwind', 'a-shop-with-a-very-long-name-of-forty-ch', 'zebra'];
  const ids = [acme];
  for (const [index, slug] of names.entries())
    ids.push(
      await create(slug, index === 0 ? { host: 'harbour.example.com', labels: { plan: 'free' } } : {}),
    );
  const deleted = await create('gone');
  const post = { method: 'POST' } as const;
  await callAsOperator(stage, key, { ...post, path: '/instances/northwind/suspend' });
  await callAsOperator(stage, key, { ...post, path: '/instances/acme/backups' });
  await callAsOperator(stage, key, { method: 'DELETE', path: '/instances/gone' });
  await useInstances(stage, ids);
  return { acme, deleted };
}

/** Writes what instances have used in the last weeks, a schedule, and a backup that failed. */
async function useInstances({ data }: Pick<BrowserStage, 'data'>, ids: readonly string[]): Promise<void> {
  const config = readConfig({ data }, {});
  await withDataDirectory(
    config,
    async ({ home, directory }) => {
      const now = Date.now();
      for (let hour = 0; hour < 24 * 7; hour += 1) {
        const usage = ids.map((id, index) => {
          const requests = Math.round((1_200 / (index + 1)) * (1.2 + Math.sin((hour / 24) * 2 * Math.PI)));
          const counts = {
            requests,
            writes: Math.round(requests / 4),
            events: Math.round(requests / 5),
            deliveries: Math.round(requests / 6),
            sentBytes: requests * 3_000,
            realtimeConnections: index + 2,
            records: 120_000 - hour * 90,
            dataBytes: 400_000_000 - hour * 900_000,
          };
          return [directory.findShown(id)?.id ?? '', counts] as const;
        });
        await addUsage(home.control, new Map(usage), now - hour * usageLimits.hourMs);
      }
      // Once a year, so that none is due while somebody looks.
      await new ScheduleStore(home.background).set('', '0 3 1 1 *', now);
      const jobs = new JobStore(home.background, { now: () => now - 3 * 366 * usageLimits.dayMs });
      const [, second = '', third = ''] = ids;
      const job = { kind: 'backup', backup: 'backup_1.zip', place: '', isAuto: true } as const;
      const old = await jobs.begin({ ...job, instance: third }, 'test');
      await jobs.end(old, { state: 'done', bytes: 12_000_000, message: '' });
      const failed = await jobs.begin({ ...job, instance: second }, 'test');
      const message = 'The bucket backups answered with 403: access denied.';
      await jobs.end(failed, { state: 'failed', bytes: 0, message });
    },
    'fail',
  );
}
