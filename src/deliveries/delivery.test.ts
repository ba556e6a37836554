import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abortedResult, type AttemptResult } from '../sending/attempt-result.ts';
import { afterAttempt, standardSchedule, type DeliveryState } from './delivery.ts';

const now = Date.UTC(2026, 10, 20);
const pending: DeliveryState = { status: 'pending', attempts: 0, due: undefined, cause: '' };

function resultOf(changes: Partial<AttemptResult> = {}): AttemptResult {
  const failure = { kind: 'status', status: 500, cause: 'The receiver answered with status 500.' } as const;
  return { ...abortedResult(now, ''), deliveryId: 'd', ...failure, isEndpointWide: true, ...changes };
}

function after(
  state: DeliveryState,
  result: AttemptResult,
  random = 0.5,
): DeliveryState & { readonly due: number } {
  const next = afterAttempt(state, result, { now, schedule: standardSchedule, random });
  return { ...next, due: next.due ?? Number.NaN };
}

test('a success ends a delivery, whatever its earlier attempts', () => {
  const state = { status: 'pending', attempts: 7, due: 0, cause: 'No answer.' } as const;
  const delivered = { status: 'delivered', attempts: 8, due: now, cause: '' };
  assert.deepEqual(after(state, resultOf({ isSuccess: true, kind: 'success', status: 204 })), delivered);
});

test('the standard schedule runs for about 76 hours and then the delivery is exhausted', () => {
  const delays: number[] = [];
  let state = pending;
  while (state.status === 'pending') {
    state = after(state, resultOf());
    if (state.status === 'pending') delays.push(((state.due ?? 0) - now) / 1_000);
  }
  assert.deepEqual(
    delays,
    [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 43_200, 43_200, 43_200, 43_200],
  );
  assert.equal(Math.round(delays.reduce((sum, delay) => sum + delay) / 3_600), 76);
  assert.deepEqual(state, {
    status: 'exhausted',
    attempts: 15,
    due: now,
    cause: 'The receiver answered with status 500.',
  });
});

test('jitter varies a delay between 75 % and 125 %', () => {
  assert.equal(after(pending, resultOf(), 0).due, now + 3_750);
  assert.ok(after(pending, resultOf(), 0.999_999).due <= now + 6_250);
  assert.ok(after(pending, resultOf(), 0.999_999).due > now + 6_249);
});

test('W-30 Retry-After postpones the next attempt, and never brings it forward', () => {
  assert.equal(after(pending, resultOf({ status: 429, retryAfterSeconds: 90 })).due, now + 90_000);
  assert.equal(after(pending, resultOf({ status: 503, retryAfterSeconds: 1 })).due, now + 5_000);
});

test('an aborted attempt does not count, and is due again at once', () => {
  const state = { status: 'pending', attempts: 2, due: now - 5, cause: 'No answer.' } as const;
  assert.deepEqual(after(state, resultOf({ kind: 'aborted' })), { ...state, due: now });
});

test('a delivery that has outlived its schedule has one attempt at a time', () => {
  const state = { status: 'pending', attempts: 15, due: now, cause: '' } as const;
  assert.equal(after(state, resultOf()).status, 'exhausted');
});

test('an empty schedule means one attempt', () => {
  const state = afterAttempt(pending, resultOf(), { now, schedule: [], random: 0 });
  assert.deepEqual([state.status, state.attempts], ['exhausted', 1]);
});
