// Both engines: the backlog is counted by SQL.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { operator } from '../../src/access/caller.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { instancesMax } from '../../src/http/service-metrics.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { Scrape } from '../support/exposition.ts';
import { makeKey } from '../support/make-key.ts';
import { RawConnection, rawRequest, sendRaw } from '../support/raw-http.ts';
import { startService, type TestService } from '../support/service.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const records = '/api/collections/posts/records';
const failures = 7;
const posts = 60;
const rounds = 25;

function scrape({ app }: TestService): Promise<Scrape> {
  assert.ok(app.metricsUrl !== undefined);
  return Scrape.of(app.metricsUrl);
}

/** A service whose receiver fails at first; each delivery is tried again after a second. */
async function start(t: TestContext): Promise<WebhookService> {
  const service = await startWebhookService(t, { flags: { 'metrics-port': '0' } });
  const { receiver } = service;
  receiver.mode = { kind: 'status', status: 404 };
  void receiver.waitForRequests(failures).then(() => (receiver.mode = { kind: 'ok' }));
  return service;
}

/** Sends requests of several kinds, on as many connections as there are, and returns how many there were by series. */
async function load(service: WebhookService): Promise<ReadonlyMap<string, number>> {
  const made = await Promise.all(Array.from({ length: posts }, (_, at) => service.addPost(`post ${at}`)));
  const missing = { method: 'GET', token: true } as const;
  await Promise.all(
    Array.from({ length: rounds }, async (_, at) => {
      await service.request(`${records}?perPage=${at + 1}`, { token: true });
      await service.request(`${records}/${made[at].id}`, { token: true });
      await service.request(`${records}/${made[at].id}`, { method: 'HEAD', token: true });
      await service.request(`${records}/nothing`, missing);
      await service.request(`/api/records/posts/nothing`, missing);
      await service.request(records, { method: 'POST', body: '{' });
      await service.request(`/api/nothing/${at}?key=${at}`);
      await service.request(records, { method: 'OPTIONS' });
    }),
  );
  const list = '/api/collections/:collection/records';
  const one = '/api/collections/:collection/records/:id';
  return new Map([
    [seriesOf(list, 'POST', '2xx'), posts],
    [seriesOf(list, 'GET', '2xx'), rounds],
    [seriesOf(one, 'GET', '2xx'), rounds],
    [seriesOf(one, 'HEAD', '2xx'), rounds],
    [seriesOf(one, 'GET', '4xx'), 2 * rounds],
    [seriesOf(list, 'POST', '4xx'), rounds],
    [seriesOf('none', 'GET', '4xx'), rounds],
    [seriesOf('none', 'OPTIONS', '2xx'), rounds],
  ]);
}

function seriesOf(route: string, method: string, status: string): string {
  return `chancery_http_requests_total{route="${route}",method="${method}",status="${status}"}`;
}

function checkDurations(grown: (series: string) => number): void {
  for (const [route, method, count] of [
    ['/api/collections/:collection/records', 'POST', posts + rounds],
    ['/api/collections/:collection/records/:id', 'HEAD', rounds],
    ['none', 'GET', rounds],
  ] as const) {
    const labels = `{route="${route}",method="${method}"}`;
    assert.equal(grown(`chancery_http_request_duration_seconds_count${labels}`), count, labels);
    const all = `chancery_http_request_duration_seconds_bucket{route="${route}",method="${method}",le="+Inf"}`;
    assert.equal(grown(all), count);
  }
}

function checkWebhooks(service: WebhookService, grown: (series: string) => number): void {
  const { requests } = service.receiver;
  assert.equal(grown('chancery_webhook_attempts_total{outcome="status"}'), failures);
  assert.equal(requests.length, posts + failures);
  assert.equal(grown('chancery_events_total'), posts);
  assert.equal(grown('chancery_webhook_first_byte_seconds_count'), posts);
  assert.equal(grown('chancery_webhook_delivery_seconds_count'), posts);
  assert.ok(
    grown('chancery_webhook_delivery_seconds_sum') >= grown('chancery_webhook_first_byte_seconds_sum'),
  );
  assert.equal(grown('chancery_webhook_exhausted_total'), 0);
}

test('metrics count each request, webhook and message of a load', async (t) => {
  const service = await start(t);
  const before = await scrape(service);
  await service.addEndpoint({ schedule: Array.from({ length: 10 }, () => 1), maxInFlight: 4 });
  const counted = await load(service);
  const streams = await Promise.all(Array.from({ length: 3 }, () => EventStream.open(t, service.url)));
  await eventually('everything is delivered, and no attempt is open', async () => {
    const now = await scrape(service);
    return (
      now.of('chancery_webhook_attempts_total{outcome="success"}') === posts &&
      now.of('chancery_webhook_attempts_open') === 0
    );
  });
  const after = await scrape(service);
  const grown = (series: string): number => after.of(series) - before.of(series);
  for (const [series, count] of counted) assert.equal(grown(series), count, series);
  checkDurations(grown);
  checkWebhooks(service, grown);
  assert.equal(
    after.of('chancery_webhook_lanes{state="closed"}') + after.of('chancery_webhook_lanes{state="slow"}'),
    1,
  );
  assert.equal(grown('chancery_realtime_connections'), streams.length);
  assert.equal(grown('chancery_realtime_messages_total'), streams.length);
  assert.ok(grown('chancery_commit_writes_sum') >= posts);
  assert.equal(grown('chancery_commit_writes_count'), grown('chancery_commit_duration_seconds_count'));
  for (const kind of ['read', 'write'])
    assert.ok(grown(`chancery_sql_duration_seconds_count{kind="${kind}"}`) > 0, kind);
  // The endpoint and the streams as well; a preflight is of no instance.
  const all = [...counted.values()].reduce((sum, count) => sum + count, 1 + streams.length) - rounds;
  assert.equal(grown('chancery_instance_requests_total{slug="default"}'), all);
  for (const stream of streams) stream.close();
  await eventually(
    'the connections are gone',
    async () => (await scrape(service)).of('chancery_realtime_connections') === 0,
  );
});

test('what waits for a receiver is the backlog, with the age of the oldest and the breaker that is open', async (t) => {
  const service = await startWebhookService(t, {
    flags: { 'metrics-port': '0' },
    mode: { kind: 'status', status: 503 },
  });
  await service.addEndpoint({ schedule: [3_600], maxInFlight: 1 });
  const waiting = 12;
  for (let at = 0; at < waiting; at += 1) await service.addPost();
  await eventually(
    'it is left alone',
    async () => (await scrape(service)).of('chancery_webhook_open_breakers') === 1,
  );
  await eventually(
    'all are counted',
    async () => (await scrape(service)).of('chancery_webhook_backlog') === waiting,
  );
  const found = await scrape(service);
  assert.equal(found.of('chancery_webhook_lanes{state="open"}'), 1);
  assert.equal(found.of('chancery_instance_backlog{slug="default"}'), waiting);
  assert.ok(found.of('chancery_webhook_oldest_pending_seconds') > 0);
  assert.equal(found.of('chancery_webhook_backlog_failures_total'), 0);
});

test('an endpoint that the service stops is counted once, and a delivery that is given up', async (t) => {
  const service = await startWebhookService(t, {
    flags: { 'metrics-port': '0' },
    mode: { kind: 'status', status: 410 },
  });
  await service.addEndpoint({ schedule: [], maxInFlight: 4 });
  await Promise.all([service.addPost(), service.addPost(), service.addPost()]);
  const stopped = 'chancery_webhook_endpoints_stopped_total{reason="gone"}';
  await eventually('it is stopped', async () => (await scrape(service)).of(stopped) === 1);
  await eventually(
    'attempts are over',
    async () => (await scrape(service)).of('chancery_webhook_attempts_open') === 0,
  );
  const found = await scrape(service);
  assert.equal(found.of(stopped), 1);
  assert.equal(found.of('chancery_webhook_exhausted_total'), service.receiver.requests.length);
});

test('bytes of files are counted on their way in and out', async (t) => {
  const service = await startService(t, { flags: { 'metrics-port': '0' } });
  const fields = [{ name: 'paper', type: 'file', maxSelect: 1 }];
  const definition = { name: 'papers', type: 'base', createRule: '', viewRule: '', fields };
  await service.request('/api/collections', { method: 'POST', token: true, body: definition });
  const bytes = 100_000;
  const form = new FormData();
  form.set('paper', new Blob(['x'.repeat(bytes)]), 'paper.txt');
  const made = await fetch(`${service.url}/api/collections/papers/records`, { method: 'POST', body: form });
  // The record that was made.
  const { id, paper } = (await made.json()) as { readonly id: string; readonly paper: string };
  const address = `${service.url}/api/files/papers/${id}/${paper}`;
  for (const headers of [{}, { range: 'bytes=0-999' }])
    await (await fetch(address, { headers })).arrayBuffer();
  await fetch(address, { method: 'HEAD' });
  const found = await scrape(service);
  assert.equal(found.of('chancery_file_received_bytes_total'), bytes);
  assert.equal(found.of('chancery_file_sent_bytes_total'), bytes + 1_000);
});

test('nothing that a client writes makes a series of its own', async (t) => {
  const service = await startService(t, { flags: { 'metrics-port': '0' } });
  const ask = async (round: number): Promise<void> => {
    for (const line of [
      `REPORT /api/${round}`,
      `GET /%${round}`,
      `PROPFIND /api/collections`,
      `PUT /api/keys`,
    ])
      await sendRaw(t, service.url, rawRequest(line, { host: `odd${round}.example` }));
    await service.request(`/i/nobody${round}/api/health`);
    await service.request(`/api/collections/${round}/records/${round}`);
    await service.request(`/api/health?${round}=1`, { headers: { host: `h${round}.example` } });
  };
  await ask(1);
  const before = await scrape(service);
  for (let round = 2; round < 12; round += 1) await ask(round);
  const after = await scrape(service);
  const names = (found: Scrape): readonly string[] => found.seriesOf('chancery_').toSorted();
  assert.deepEqual(names(after), names(before));
  assert.ok(after.of(seriesOf('none', 'other', '4xx')) > before.of(seriesOf('none', 'other', '4xx')));
});

test('metrics are read by an address, a name without a dot or one that the operator has given, and by no other', async (t) => {
  const flags = { 'metrics-port': '0', 'metrics-names': 'Chancery.internal,metrics.example' };
  const { app } = await startService(t, { flags });
  assert.ok(app.metricsUrl !== undefined);
  const { port } = new URL(app.metricsUrl);
  const statusOf = async (...headers: readonly string[]): Promise<number | undefined> => {
    const head = headers.map((header) => `${header}\r\n`).join('');
    const connection = RawConnection.open(t, app.metricsUrl ?? '');
    connection.send(`GET /metrics HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
    return (await connection.waitForAnswers(1))[0]?.status;
  };
  for (const host of ['127.0.0.1', '[::1]', 'localhost', 'chancery', 'chancery.internal', 'METRICS.example.'])
    for (const suffix of ['', `:${port}`]) assert.equal(await statusOf(`Host: ${host}${suffix}`), 200, host);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1.evil.example',
    'localhost.evil.example',
  ])
    assert.equal(await statusOf(`Host: ${host}`), 421, host);
  for (const host of ['a b', 'localhost@evil.example', '', 'localhost:99999', '[evil.example]'])
    assert.equal(await statusOf(`Host: ${host}`), 421, host);
  assert.equal(await statusOf('Host: localhost', 'Host: evil.example'), 421);
  assert.equal(await statusOf(), 400);
});

test('only the instances with the most are named', async (t) => {
  const service = await startService(t, { flags: { 'metrics-port': '0' } });
  const { directory } = service.app.data;
  for (let at = 0; at < instancesMax + 3; at += 1) {
    await directory.create(`tenant${at}`, null);
    for (let count = 0; count <= at; count += 1) await service.request(`/i/tenant${at}/api/health`);
  }
  const found = await scrape(service);
  const named = found.seriesOf('chancery_instance_requests_total');
  assert.equal(named.length, instancesMax);
  assert.ok(named.includes(`chancery_instance_requests_total{slug="tenant${instancesMax + 2}"}`));
  assert.ok(!named.includes('chancery_instance_requests_total{slug="tenant0"}'));
  assert.equal(found.of('chancery_instances'), instancesMax + 4);
});

test('on the port of the API, metrics are for keys of the default instance with the scope, and for no other instance', async (t) => {
  const service = await startService(t);
  assert.equal(service.app.metricsUrl, undefined);
  const { key } = await makeKey(service, ['metrics']);
  const shown = await service.request('/metrics', { token: key });
  assert.equal(shown.status, 200);
  assert.equal(shown.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.ok(new Scrape(shown.text).types.has('chancery_http_requests_total'));
  await service.app.data.directory.create('elsewhere', null);
  const body = { name: 'theirs', scopes: ['metrics'] };
  const theirs = await service.withInstance('elsewhere', (instance) =>
    createApiKey(instance, body, ruleInputOfCaller(operator)),
  );
  const refused = await service.request('/i/elsewhere/metrics', { token: theirs.key });
  assert.equal(refused.status, 403);
});

test('the port of metrics serves nothing else', async (t) => {
  const service = await startService(t, { flags: { 'metrics-port': '0' } });
  const url = service.app.metricsUrl ?? '';
  const { origin } = new URL(url);
  assert.equal((await fetch(`${origin}/api/health`)).status, 404);
  assert.equal((await fetch(url, { method: 'POST' })).status, 405);
  const head = await fetch(url, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
});
