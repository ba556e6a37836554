import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test, type TestContext } from 'node:test';
import { describePlaces, posts, remoteRun, type StageOptions } from '../support/command-stage.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import type { TestService } from '../support/service.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

describePlaces('delivery and event', (start) => {
  test('deliveries are listed, the newest first, by status, endpoint and filter', async (t) => {
    const { options, ids } = await withDeliveries(t);
    const { run } = await start(t, options);
    const lines = (await run(['delivery', 'list'])).stdout.trimEnd().split('\n');
    const rows = lines.map((line) => line.split('\t'));
    assert.deepEqual(
      rows.map(([, status, , event, attempts]) => [status, event, attempts]),
      [
        ['pending', 'record.update', '0'],
        ['exhausted', 'record.create', '1'],
        ['delivered', 'record.create', '1'],
      ],
    );
    const [waiting, failed, taken] = rows;
    assert.match(taken?.[2] ?? '', /^200 in \d+ ms$/);
    assert.match(failed?.[2] ?? '', /^500 in \d+ ms$/);
    assert.match(waiting?.[5] ?? '', /^\d{4}-\d\d-\d\d .*Z$/);
    assert.deepEqual([taken?.[6], taken?.[7]], [ids.endpoint, `posts/${ids.first}`]);

    const idsOf = async (...flags: readonly string[]): Promise<readonly string[]> => {
      const { stdout, stderr } = await run(['delivery', 'list', '--json', ...flags]);
      assert.equal(stderr, '');
      const items: readonly { readonly id: string }[] = JSON.parse(stdout);
      return items.map(({ id }) => id);
    };
    const [one, two, three] = rows.map(([id]) => id);
    assert.deepEqual(await idsOf('--status', 'exhausted'), [two]);
    assert.deepEqual(await idsOf('--status', 'pending,delivered'), [one, three]);
    assert.deepEqual(await idsOf('--endpoint', ids.endpoint, '--sort', 'created'), [three, two, one]);
    assert.deepEqual(await idsOf('--endpoint', "no'where"), []);
    assert.deepEqual(
      await idsOf('--filter', "kind = 'record.create' || kind = 'ping'", '--status', 'delivered'),
      [three],
    );
    assert.deepEqual(await idsOf('--limit', '1', '--page', '2'), [two]);
    const wrong = await run(['delivery', 'list', '--status', 'lost']);
    assert.deepEqual(
      [wrong.code, /--status must be of pending, delivered, .* not "lost"/.test(wrong.stderr)],
      [64, true],
    );
    const table = await run(['delivery', 'list'], { columns: 120, environment: { NO_COLOR: '1' } });
    assert.match(table.stdout, /^id +status +last answer +event +attempts +next attempt\n/);
    assert.ok(table.stdout.split('\n').every((line) => line.length <= 120));
  });

  test('the story of a delivery has each attempt and what was answered', async (t) => {
    const { options, ids } = await withDeliveries(t);
    const { run } = await start(t, options);
    const [failed] = JSON.parse((await run(['delivery', 'list', '--status', 'exhausted', '--json'])).stdout);
    const { stdout } = await run(['delivery', 'show', failed.id]);
    assert.match(stdout, /^status\texhausted$/m);
    assert.match(stdout, new RegExp(`^event\\t${failed.event} \\(record\\.create\\)$`, 'm'));
    assert.match(
      stdout,
      new RegExp(`^endpoint\\t${ids.endpoint} \\(http://127\\.0\\.0\\.1:\\d+/hook\\)$`, 'm'),
    );
    assert.match(stdout, /^attempt 1\t\d{4}-\S+ \S+Z: 500 in \d+ ms \(.*first byte \d+ ms\)$/m);
    // What a receiver answers is not obeyed by a terminal.
    assert.match(stdout, /^answer 1\tNo \\u001b\[31mroom $/m);
    const json = JSON.parse((await run(['delivery', 'show', failed.id, '--json'])).stdout);
    assert.equal(json.attempts[0].responseBody, 'No \u001b[31mroom\n');
    await run(['endpoint', 'delete', ids.endpoint, '--yes']);
    assert.match((await run(['delivery', 'show', failed.id])).stdout, /^endpoint\t\w+ \(deleted\)$/m);
    const gone = await run(['delivery', 'show', 'nope']);
    assert.deepEqual([gone.code, gone.stderr], [65, 'chancery: There is no delivery nope.\n']);
  });

  test('a delivery is retried and cancelled', async (t) => {
    const { options } = await withDeliveries(t);
    const { run } = await start(t, options);
    const [waiting, failed] = JSON.parse((await run(['delivery', 'list', '--json'])).stdout);
    // Its endpoint is paused: it stays as it is.
    const retried = await run(['delivery', 'retry', failed.id, waiting.id]);
    assert.equal(retried.stdout, `Delivery ${failed.id} is due now.\nDelivery ${waiting.id} is due now.\n`);
    const [again] = JSON.parse((await run(['delivery', 'retry', failed.id, '--json'])).stdout);
    assert.equal(again.status, 'pending');
    const cancel = ['delivery', 'cancel', waiting.id];
    const unsure = await run(cancel);
    assert.deepEqual([unsure.code, /This cancels the delivery .* --yes/.test(unsure.stderr)], [64, true]);
    const another = await run(cancel, { columns: 80, input: 'x\n' });
    assert.deepEqual([another.code, another.stderr.endsWith('nothing was cancelled.\n')], [65, true]);
    assert.equal((await run([...cancel, '--yes'])).stdout, `Delivery ${waiting.id} cancelled.\n`);
    const over = await run([...cancel, '--yes']);
    assert.deepEqual([over.code, over.stderr], [65, 'chancery: The delivery is cancelled.\n']);
    assert.match((await run(['delivery', 'cancel', 'nope', '--yes'])).stderr, /There is no delivery nope\./);
  });

  test('events are listed and shown with their deliveries', async (t) => {
    const { options, ids } = await withDeliveries(t);
    const { run } = await start(t, options);
    const rows = (await run(['event', 'list'])).stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t').slice(1, 5));
    assert.deepEqual(rows, [
      ['record.update', `posts/${ids.first}`, '2', '1 pending'],
      ['delivery.exhausted', ids.endpoint, '0', ''],
      ['record.create', `posts/${ids.second}`, '1', '1 exhausted'],
      ['record.create', `posts/${ids.first}`, '1', '1 delivered'],
    ]);
    const story: readonly { readonly id: string; readonly kind: string }[] = JSON.parse(
      (await run(['event', 'list', '--record', `posts/${ids.first}`, '--json'])).stdout,
    );
    assert.deepEqual(
      story.map(({ kind }) => kind),
      ['record.update', 'record.create'],
    );
    const created = story[1]?.id ?? '';
    const filtered = await run(['event', 'list', '--filter', `record = '${ids.second}'`, '--limit', '5']);
    assert.equal(filtered.stdout.trimEnd().split('\n').length, 1);
    const { stdout } = await run(['event', 'show', created]);
    assert.match(stdout, /^event\trecord\.create\n/m);
    assert.match(stdout, /^delivery \w+-\w+\tdelivered after 1 attempt: 200 in \d+ ms$/m);
    assert.match(stdout, /^body\t\{"event":"record\.create",.*"title":"First"/m);
    const json = JSON.parse((await run(['event', 'show', created, '--json'])).stdout);
    assert.equal(json.body.data.title, 'First');
    const why = (await run(['event', 'why', created])).stdout;
    assert.match(why, new RegExp(`^${ids.endpoint}\\t\\S*\\tsent\\t\\t\\n`, 'm'));
    const one = await run(['event', 'why', created, '--endpoint', ids.endpoint, '--json']);
    const [line, ...others]: readonly { readonly isSent: boolean }[] = JSON.parse(one.stdout);
    assert.deepEqual([line?.isSent, others], [true, []]);
    const none = await run(['event', 'why', 'nope']);
    assert.equal(none.code, 65);
    const gone = await run(['event', 'show', 'nope']);
    assert.deepEqual([gone.code, gone.stderr], [65, 'chancery: There is no event nope.\n']);
  });
});

test('a tail shows deliveries as they come and change, until Ctrl-C', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'status', status: 500 } });
  const { id } = await service.addEndpoint({ schedule: [1] });
  const tail = tailOf({ t, service }, ['--json']);
  await service.addPost();
  await tail.sees((lines) => lines.some(({ status }) => status === 'exhausted'));
  const attempts = tail.lines().map((line) => line.attempts.length);
  assert.deepEqual(
    attempts,
    attempts.toSorted((one, other) => one - other),
  );
  service.receiver.mode = { kind: 'ok' };
  await service.call('POST', `/api/webhooks/deliveries/${tail.lines()[0]?.id}/retry`);
  await tail.sees((lines) => lines.at(-1)?.status === 'delivered');
  assert.ok(tail.lines().every(({ endpoint }) => endpoint === id));
  assert.deepEqual(await tail.end(), { code: 0, stderr: '' });

  const some = tailOf({ t, service }, ['--status', 'delivered', '--limit', '1'], 200);
  await eventually('the table', () => /^\S*id .*\n.*delivered/.test(some.text()));
  assert.deepEqual(await some.end(), { code: 0, stderr: '' });
});

test('a tail outlives a restart of the service, but no refusal', async (t) => {
  const service = await startWebhookService(t);
  const tail = tailOf({ t, service }, ['--json']);
  await service.addEndpoint();
  await service.addPost();
  await tail.sees((lines) => lines.at(-1)?.status === 'delivered');
  await service.stop();
  await eventually('a note', () => tail.notes() !== '');
  assert.match(tail.notes(), /^chancery: \S+ cannot be reached: .* Retrying until it answers\.\n$/);
  await tail.end();
  const refused = await startWebhookService(t);
  const run = remoteRun({ url: refused.url, superuser: { ...refused.superuser, token: 'ck_nothing' } });
  assert.equal((await run(['delivery', 'tail'])).code, 77);
});

interface Shown {
  readonly id: string;
  readonly endpoint: string;
  readonly status: string;
  readonly attempts: readonly unknown[];
}

interface Tail {
  readonly text: () => string;
  readonly notes: () => string;
  readonly lines: () => readonly Shown[];
  readonly sees: (check: (lines: readonly Shown[]) => boolean) => Promise<unknown>;
  readonly end: () => Promise<{ readonly code: number | null; readonly stderr: string }>;
}

/** Follows deliveries until it is ended as by Ctrl-C. */
function tailOf(
  { t, service }: { readonly t: TestContext; readonly service: WebhookService },
  flags: readonly string[],
  columns?: number,
): Tail {
  const interrupts = new EventEmitter();
  t.after(() => interrupts.emit('SIGINT'));
  let [text, notes] = ['', ''];
  const ended = remoteRun(service)(['delivery', 'tail', ...flags], {
    interrupts,
    onOutput: (piece) => void (text += piece),
    onQuestion: (piece) => void (notes += piece),
    ...(columns !== undefined && { columns }),
  });
  const lines = (): readonly Shown[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  return {
    text: () => text,
    notes: () => notes,
    lines,
    sees: (check) => eventually('what the tail shows', () => check(lines())),
    end: async () => {
      interrupts.emit('SIGINT');
      const { code, stderr } = await ended;
      return { code, stderr };
    },
  };
}

interface Prepared {
  readonly options: StageOptions;
  /** Filled once the service is prepared. */
  readonly ids: { endpoint: string; first: string; second: string };
}

/** Prepares one delivery that was taken, one that was given up, and one that waits for its paused endpoint. */
async function withDeliveries(t: TestContext): Promise<Prepared> {
  const receiver = await Receiver.open({ mode: { kind: 'ok' } });
  t.after(() => receiver.close());
  const ids = { endpoint: '', first: '', second: '' };
  const prepare = async (service: TestService): Promise<void> => {
    const call = async (method: string, path: string, body?: unknown): Promise<{ readonly id: string }> => {
      const { status, text, json } = await service.request(path, { method, token: true, body });
      assert.ok(status < 300, text);
      return json;
    };
    const until = (status: string): Promise<unknown> =>
      eventually(status, async () => {
        const filter = encodeURIComponent(`status = '${status}'`);
        const { json } = await service.request(`/api/webhooks/deliveries?filter=${filter}`, { token: true });
        return json.totalItems === 1;
      });
    const records = '/api/collections/posts/records';
    const settings = { url: receiver.url, schedule: [] };
    ids.endpoint = (await call('POST', '/api/webhooks/endpoints', settings)).id;
    ids.first = (await call('POST', records, { title: 'First' })).id;
    await until('delivered');
    receiver.mode = { kind: 'status', status: 500, body: 'No \u001b[31mroom\n' };
    ids.second = (await call('POST', records, { title: 'Second' })).id;
    await until('exhausted');
    await call('POST', `/api/webhooks/endpoints/${ids.endpoint}/pause`);
    await call('PATCH', `${records}/${ids.first}`, { title: 'Changed' });
  };
  return { options: { collections: [posts], prepare }, ids };
}
