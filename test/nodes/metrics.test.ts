import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import type { App } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { Scrape } from '../support/exposition.ts';
import { NodeGroup, posts } from './node-group.ts';

const records = '/api/collections/posts/records';
const own = { 'metrics-port': '0' };

function scrape({ metricsUrl }: App): Promise<Scrape> {
  assert.ok(metricsUrl !== undefined);
  return Scrape.of(metricsUrl);
}

test('each node shows what it does, and only the one that delivers for an instance counts its backlog', async (t) => {
  const group = await NodeGroup.open(t);
  const nodes = [await group.start(group.postgres, own), await group.start(group.postgres, own)] as const;
  await group.divided(nodes[0], 2);
  await group.signIn(nodes[0]);
  await group.get(nodes[0], 'POST /api/collections', posts);
  group.receiver.mode = { kind: 'status', status: 503 };
  await group.get(nodes[0], 'POST /api/webhooks/endpoints', { url: group.receiver.url, schedule: [3_600] });
  const written = [7, 5];
  for (const [index, count] of written.entries())
    for (let at = 0; at < count; at += 1)
      await group.get(nodes[index === 0 ? 0 : 1], `POST ${records}`, { title: String(at) });
  const all = (): Promise<readonly Scrape[]> => Promise.all(nodes.map(scrape));
  const backlogs = await eventually('the backlog is counted', async () => {
    const found = (await all()).map((one) => one.of('chancery_webhook_backlog'));
    return found.includes(12) ? found : undefined;
  });
  assert.deepEqual(
    backlogs.toSorted((a, b) => a - b),
    [0, 12],
  );
  const scrapes = await all();
  assert.deepEqual(
    scrapes.map((one) => one.of('chancery_events_total')),
    written,
  );
  const lanes = scrapes.map((one) =>
    one.seriesOf('chancery_webhook_lanes').reduce((sum, series) => sum + one.of(series), 0),
  );
  assert.deepEqual(
    lanes,
    backlogs.map((count) => Number(count > 0)),
  );
});

test('metrics are answered while the backlog cannot be counted, with what was known of it', async (t) => {
  const group = await NodeGroup.open(t);
  const node = await group.start(group.postgres, own);
  await group.signIn(node);
  await group.get(node, 'POST /api/collections', posts);
  group.receiver.mode = { kind: 'status', status: 503 };
  await group.get(node, 'POST /api/webhooks/endpoints', { url: group.receiver.url, schedule: [3_600] });
  await group.get(node, `POST ${records}`, { title: 'a' });
  await eventually('it is counted', async () => (await scrape(node)).of('chancery_webhook_backlog') === 1);
  const client = new Client({ connectionString: group.postgres });
  await client.connect();
  t.after(() => client.end());
  await client.query('BEGIN; LOCK TABLE chancery.outcome IN ACCESS EXCLUSIVE MODE');
  const failures = 'chancery_webhook_backlog_failures_total';
  await eventually('a count has failed', async () => {
    const found = await scrape(node);
    assert.equal(found.of('chancery_webhook_backlog'), 1);
    return found.of(failures) > 0;
  });
  await client.query('ROLLBACK');
});
