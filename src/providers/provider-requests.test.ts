import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Receiver, type ReceiverMode } from '../../test/support/receiver.ts';
import { systemClock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import { GuardedRequests } from '../network/guarded-requests.ts';
import { ProviderFailure, ProviderRequests } from './provider-requests.ts';

async function open(t: TestContext, mode: ReceiverMode, signInMs?: number) {
  const receiver = await Receiver.open({ mode });
  const policy = { allowHttp: true, allowed: loopbackRanges };
  const guarded = new GuardedRequests({ policy, clock: systemClock });
  t.after(async () => {
    await guarded.stop();
    await receiver.close();
  });
  const requests = new ProviderRequests(guarded, { version: '1', ...(signInMs && { signInMs }) });
  const url = receiver.urlAt('127.0.0.1', '/');
  const share = { instance: 'shop', address: '192.0.2.1' };
  const get = (bytesMax?: number) =>
    requests.run(share, (send) => send(url, { method: 'GET', headers: {} }, bytesMax));
  return { receiver, requests, share, get };
}

function isFailure(pattern: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof ProviderFailure && pattern.test(error.message);
}

test('a sign-in at a provider ends after its time, however slowly that answers', async (t) => {
  for (const mode of [{ kind: 'never answers' }, { kind: 'drip', intervalMs: 20 }] as const) {
    const { get } = await open(t, mode, 300);
    await assert.rejects(get(), isFailure(/did not answer in time/));
  }
});

test('no more of an answer is read than it may have', async (t) => {
  const { get, receiver } = await open(t, { kind: 'endless body' });
  await assert.rejects(get(), isFailure(/larger than 262144 bytes/));
  receiver.mode = { kind: 'status', status: 200, body: 'x'.repeat(100) };
  assert.equal((await get(100)).body.length, 100);
  await assert.rejects(get(99), isFailure(/larger than 99 bytes/));
});

test('sign-ins of one client wait in turns, and too many are refused', async (t) => {
  const end = Promise.withResolvers<void>();
  const { get, receiver } = await open(t, { kind: 'held', until: end.promise });
  const outcomes = Array.from({ length: 30 }, () =>
    get().then(
      () => 'answered',
      (error: unknown) => (error instanceof AppError ? error.code : 'failed'),
    ),
  );
  // 16 of an instance at once, and 8 of a client in the line.
  await receiver.waitForRequests(16);
  const refused = outcomes.slice(24);
  assert.deepEqual(
    await Promise.all(refused),
    refused.map(() => 'unavailable'),
  );
  assert.equal(receiver.requests.length, 16);
  end.resolve();
  assert.deepEqual(new Set(await Promise.all(outcomes.slice(0, 24))), new Set(['answered']));
});
