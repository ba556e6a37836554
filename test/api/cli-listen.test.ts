import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test, type TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { sql } from '../../src/sql/sql.ts';
import { localRun, remoteRun, type Run } from '../support/command-stage.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/make-key.ts';
import { Receiver } from '../support/receiver.ts';
import type { CommandResult } from '../support/run-in-process.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

interface Listening {
  /** What it has written so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Presses Ctrl-C. */
  readonly interrupt: () => Promise<CommandResult>;
}

/** Starts to listen; resolves when it listens. */
async function listen(t: TestContext, run: Run, ...args: readonly string[]): Promise<Listening> {
  const interrupts = new EventEmitter();
  let [stdout, stderr] = ['', ''];
  const ended = run(['listen', ...args], {
    interrupts,
    onOutput: (text) => (stdout += text),
    onQuestion: (text) => (stderr += text),
  });
  const interrupt = (): Promise<CommandResult> => {
    interrupts.emit('SIGINT');
    return ended;
  };
  t.after(interrupt);
  await eventually('it listens', () => stderr.includes('Ctrl-C'));
  return { stdout: () => stdout, stderr: () => stderr, interrupt };
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').slice(0, -1);
}

async function heard({ stdout, stderr }: Listening, count: number): Promise<readonly string[]> {
  return eventually(`${count} events: ${stderr()}`, () => {
    const lines = linesOf(stdout());
    return lines.length >= count ? lines : undefined;
  });
}

/** Returns what a listener could leave behind. */
async function stateOf(service: WebhookService): Promise<unknown> {
  const list = async (path: string): Promise<number> =>
    (await service.call('GET', `${path}?perPage=1`)).totalItems;
  return {
    endpoints: await list('/api/webhooks/endpoints'),
    deliveries: await list('/api/webhooks/deliveries'),
    audit: await list('/api/audit'),
    consumers: await service.withInstance('default', async ({ database }) => {
      const table = database.names.table('$consumer');
      return (await database.all(sql`SELECT * FROM ${table} WHERE ${database.names.instance.condition}`))
        .length;
    }),
  };
}

test('events are shown, verified and forwarded as an endpoint gets them, and nothing is left behind', async (t) => {
  const service = await startWebhookService(t);
  const receiver = await Receiver.open();
  t.after(() => receiver.close());
  const { secret } = await service.addEndpoint({
    name: 'shop',
    status: 'paused',
    headers: { 'X-Team': 'red' },
    events: ['record.delete'],
  });
  await service.addPost('before');
  const before = await stateOf(service);
  const args = ['--endpoint', 'shop', '--secret', secret, '--forward', receiver.url];
  const listening = await listen(t, remoteRun(service), ...args);
  const { id: post } = await service.addPost('Hello');
  await service.call('PATCH', `/api/collections/posts/records/${post}`, { body: { title: 'Bye' } });
  const lines = await heard(listening, 2);
  for (const [index, kind] of ['create', 'update'].entries())
    assert.match(
      lines[index] ?? '',
      new RegExp(`^\\S+Z {2}record\\.${kind} {2}posts/${post} {2}\\w+ {2}signature ok {2}→ 200 in \\d+ ms$`),
    );
  const [first] = receiver.requests;
  assert.ok(first !== undefined);
  const { headers, body } = first;
  // Those that are asked for are texts.
  new Webhook(secret).verify(body, headers as Record<string, string>);
  assert.deepEqual(
    [headers['x-team'], headers['x-service-event'], headers['x-service-sequence'], headers['content-type']],
    ['red', 'record.create', '1', 'application/json'],
  );
  const ended = await listening.interrupt();
  assert.equal(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /^Listening to http:[^\n]+\nResume with --since \S+\n$/);
  assert.deepEqual(await stateOf(service), before);
});

test('without an endpoint events are signed by a secret of the run, which is said', async (t) => {
  const service = await startWebhookService(t);
  const receiver = await Receiver.open({ mode: { kind: 'status', status: 500 } });
  t.after(() => receiver.close());
  const listening = await listen(t, remoteRun(service), '--forward', receiver.url, '--json');
  await service.addPost();
  const [line = ''] = await heard(listening, 1);
  const { signature, forward, event } = JSON.parse(line);
  assert.deepEqual([signature, forward.status, forward.error, event], [null, 500, null, 'record.create']);
  const [, secret = ''] = /Signed with (whsec_\S+), a secret/.exec(listening.stderr()) ?? [];
  const [request] = receiver.requests;
  assert.ok(request !== undefined);
  // Those that are asked for are texts.
  new Webhook(secret).verify(request.body, request.headers as Record<string, string>);
});

test('it is said of each event that its signature is by another secret, and that the receiver is away', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint({ status: 'paused' });
  const other = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
  const receiver = await Receiver.open();
  const { url } = receiver;
  await receiver.close();
  const args = ['--endpoint', id, '--secret', other, '--forward', url];
  const listening = await listen(t, remoteRun(service), ...args);
  await service.addPost();
  const [line = ''] = await heard(listening, 1);
  assert.match(line, / {2}signature: It was made with another secret.*→ ECONNREFUSED in \d+ ms$/);
});

test('a run goes on where another has ended, or at the start, with the events that are wanted', async (t) => {
  const service = await startWebhookService(t);
  await service.call('POST', '/api/collections', { body: { name: 'notes', fields: [] } });
  const run = remoteRun(service);
  await service.addPost('a');
  const first = await listen(t, run, '--since', 'start');
  await heard(first, 1);
  const { stderr } = await first.interrupt();
  const [, cursor = ''] = /--since (\S+)/.exec(stderr) ?? [];
  const { id } = await service.addPost('b');
  await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'c' } });
  await service.call('POST', '/api/collections/notes/records', { body: {}, status: 201 });
  const kindsAfter = async (count: number, ...args: readonly string[]): Promise<readonly string[]> => {
    const listening = await listen(t, run, ...args, '--json');
    const lines = await heard(listening, count);
    await listening.interrupt();
    return lines.map((line) => `${JSON.parse(line).collection} ${JSON.parse(line).event}`);
  };
  const all = ['posts record.create', 'posts record.update', 'notes record.create'];
  assert.deepEqual(await kindsAfter(3, '--since', cursor), all);
  assert.deepEqual(await kindsAfter(1, '--since', cursor, '--events', 'record.update'), [all[1]]);
  assert.deepEqual(await kindsAfter(1, '--since', cursor, '--collections', 'notes'), [all[2]]);
  assert.deepEqual(await kindsAfter(1, '--since', 'start', '--filter', "title = 'c'"), [all[1]]);
  assert.equal((await kindsAfter(4, '--since', '2020-01-01')).length, 4);
});

test('a listener goes on after the service was away', async (t) => {
  const first = await startWebhookService(t);
  const { port } = new URL(first.url);
  // Starting again over the same data gives the superuser another password, which ends its tokens.
  const { key } = await makeKey(first, ['webhooks:read']);
  const listening = await listen(t, remoteRun({ ...first, superuser: { ...first.superuser, token: key } }));
  await first.addPost();
  await heard(listening, 1);
  await first.stop();
  await eventually('it notices', () => listening.stderr().includes('Trying again in 1 s.'));
  const second = await startWebhookService(t, { data: first.data, flags: { port } });
  await second.addPost();
  assert.equal((await heard(listening, 2)).length, 2);
  assert.match(listening.stderr(), /Connected to http:\S+ again\./);
});

test('events of data of this machine are heard beside its server', async (t) => {
  const service = await startWebhookService(t);
  const listening = await listen(t, await localRun(service.data));
  await service.addPost();
  await heard(listening, 1);
  assert.equal((await listening.interrupt()).code, 0);
});

test('what cannot be heard is refused before anything is shown', async (t) => {
  const service = await startWebhookService(t);
  const run = remoteRun(service);
  const cases = [
    [['--endpoint', 'nothing'], 65, /^chancery: There is no endpoint nothing\.\n$/],
    [['--events', 'record.updated'], 64, /no event "record\.updated": did you mean record\.update\?/],
    [['--forward', 'localhost:3000'], 64, /--forward must be a URL/],
    [['--secret', 'short'], 64, /--secret: A secret must be/],
    [['--filter', 'title ='], 65, /filter/i],
    [['--since', 'made-up'], 65, /cursor/],
  ] as const;
  for (const [args, code, says] of cases) {
    const ended = await run(['listen', ...args]);
    assert.equal(ended.code, code, ended.stderr);
    assert.match(ended.stderr, says);
    assert.equal(ended.stdout, '');
  }
});
