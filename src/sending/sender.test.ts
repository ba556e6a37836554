import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { Receiver } from '../../test/support/receiver.ts';
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import type { AttemptRequest, AttemptResult } from './attempt-result.ts';
import { openSender, type Sender } from './sender.ts';
import { signBody } from './signature.ts';

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

interface Opened extends AsyncDisposable {
  readonly sender: Sender;
  readonly results: AttemptResult[];
  /** Resolves when so many results have come in all. */
  readonly waitForResults: (count: number) => Promise<readonly AttemptResult[]>;
}

function open(): Opened {
  const sender = openSender({
    policy: { allowHttp: true, allowed: loopbackRanges },
    clock: systemClock,
    logger: quiet,
  });
  const results: AttemptResult[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  sender.onResults((batch) => {
    results.push(...batch);
    for (const { count, resolve } of waiting) if (results.length >= count) resolve();
  });
  return {
    sender,
    results,
    async waitForResults(count) {
      if (results.length < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }));
      return results;
    },
    [Symbol.asyncDispose]: () => sender.stop(0),
  };
}

function requests(url: string, count: number): AttemptRequest[] {
  return Array.from({ length: count }, (_, index) =>
    attemptRequest(url, {
      deliveryId: `delivery-${index}`,
      body: Buffer.from(`{"number":${index}}`),
      sequence: index,
    }),
  );
}

/** A request that only a bug could make: it ends the thread that tries to send it. */
function poison(url: string): AttemptRequest {
  // The cast is the point: the types would not let this through.
  return attemptRequest(url, { deliveryId: 'poison', secrets: null as unknown as string[] });
}

test('the sending thread starts with the first request', async () => {
  let threads = 0;
  const count = (): unknown => (threads += 1);
  process.on('worker', count);
  await using receiver = await Receiver.open();
  await using opened = open();
  opened.sender.send([]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(threads, 0);
  opened.sender.send(requests(receiver.url, 2));
  await opened.waitForResults(2);
  opened.sender.send(requests(receiver.url, 2));
  await opened.waitForResults(4);
  assert.equal(threads, 1);
  process.off('worker', count);
});

test('a sender that never had a thread stops at once', async () => {
  const { sender } = open();
  await sender.stop(60_000);
});

test('a batch arrives whole: each body with its own signature, each result with its own delivery', async () => {
  await using receiver = await Receiver.open();
  await using opened = open();
  const batch = requests(receiver.url, 100);
  opened.sender.send(batch.slice(0, 30));
  opened.sender.send(batch.slice(30));
  const results = await opened.waitForResults(100);
  assert.ok(results.every(({ isSuccess }) => isSuccess));
  assert.deepEqual(
    results.map(({ deliveryId }) => deliveryId).toSorted(),
    batch.map(({ deliveryId }) => deliveryId).toSorted(),
  );
  for (const { headers, body } of receiver.requests) {
    const request = batch.find(({ deliveryId }) => deliveryId === headers['x-service-delivery']);
    assert.deepEqual(body, request?.body);
    assert.equal(headers['x-service-signature'], signBody(body, request?.secrets[0] ?? ''));
  }
  assert.equal(opened.sender.inFlightCount, 0);
});

test('a result of the sending thread has all members', async () => {
  await using receiver = await Receiver.open({
    mode: {
      kind: 'status',
      status: 503,
      headers: { 'retry-after': '9' },
      body: Buffer.from([0xff, 0, 0x41]),
    },
  });
  await using opened = open();
  opened.sender.send([attemptRequest(receiver.url)]);
  const [result] = await opened.waitForResults(1);
  assert.ok(result);
  const { startedAt, timings, responseHeaders, ...rest } = result;
  assert.deepEqual(rest, {
    deliveryId: attemptRequest(receiver.url).deliveryId,
    isSuccess: false,
    status: 503,
    cause: 'The receiver answered with status 503.',
    kind: 'status',
    isEndpointWide: true,
    retryAfterSeconds: 9,
    responseBody: new Uint8Array([0xff, 0, 0x41]),
  });
  assert.ok(Math.abs(startedAt - Date.now()) < 60_000);
  assert.ok(timings.connectMs !== null && timings.firstByteMs !== null && timings.totalMs !== null);
  assert.ok(responseHeaders.includes('"retry-after":"9"'));
});

test('when the sending thread dies, open attempts are reported as aborted and a new thread continues', async () => {
  await using mute = await Receiver.open({ mode: { kind: 'never answers' } });
  await using receiver = await Receiver.open();
  await using opened = open();
  opened.sender.send(requests(mute.url, 3));
  await mute.waitForRequests(3);
  opened.sender.send([poison(mute.url)]);
  const aborted = await opened.waitForResults(4);
  assert.ok(aborted.every(({ kind, isSuccess }) => kind === 'aborted' && !isSuccess));
  assert.deepEqual(aborted.map(({ deliveryId }) => deliveryId).toSorted(), [
    'delivery-0',
    'delivery-1',
    'delivery-2',
    'poison',
  ]);
  opened.sender.send(requests(receiver.url, 5));
  const all = await opened.waitForResults(9);
  assert.ok(all.slice(4).every(({ isSuccess }) => isSuccess));
});

test('a stop with enough time loses no attempt and sends none twice', async () => {
  await using receiver = await Receiver.open({ mode: { kind: 'slow', delayMs: 300 } });
  const { sender, results } = open();
  sender.send(requests(receiver.url, 10));
  await sender.stop(60_000);
  assert.equal(results.length, 10);
  assert.ok(results.every(({ isSuccess }) => isSuccess));
  assert.equal(receiver.requests.length, 10);
});

test('a stop that runs out of time aborts the rest, and every attempt has exactly one result', async () => {
  await using receiver = await Receiver.open();
  await using mute = await Receiver.open({ mode: { kind: 'never answers' } });
  const { sender, results, waitForResults } = open();
  sender.send([...requests(receiver.url, 5), ...requests(mute.url, 5)]);
  await mute.waitForRequests(5);
  await waitForResults(5);
  await sender.stop(100);
  const isTold = ({ cause }: AttemptResult) =>
    cause === 'The service stopped before the answer was complete.';
  assert.equal(results.filter(isTold).length, 5);
  assert.deepEqual(results.map(({ kind }) => kind).toSorted(), [
    ...Array.from({ length: 5 }, () => 'aborted'),
    ...Array.from({ length: 5 }, () => 'success'),
  ]);
});

test('after a stop nothing is sent any more, and a second stop is the same stop', async () => {
  await using receiver = await Receiver.open();
  const { sender, results, waitForResults } = open();
  await Promise.all([sender.stop(1_000), sender.stop(1_000)]);
  sender.send(requests(receiver.url, 2));
  await waitForResults(2);
  assert.deepEqual(
    results.map(({ kind }) => kind),
    ['aborted', 'aborted'],
  );
  assert.equal(receiver.connectionCount, 0);
});

test('a stop during which the thread dies ends at once', async () => {
  await using receiver = await Receiver.open({ mode: { kind: 'never answers' } });
  const { sender, results } = open();
  sender.send([...requests(receiver.url, 1), poison(receiver.url)]);
  await sender.stop(600_000);
  assert.deepEqual(
    results.map(({ kind }) => kind),
    ['aborted', 'aborted'],
  );
});

test('a stop after the thread has died starts no other', async () => {
  await using receiver = await Receiver.open();
  const { sender, waitForResults } = open();
  sender.send([poison(receiver.url)]);
  await waitForResults(1);
  await sender.stop(600_000);
  assert.equal(sender.inFlightCount, 0);
});
