import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterResult, afterSend, type Lane, newLane, roomOf, withinMax } from './lanes.ts';

const success = { isSuccess: true, isEndpointWide: false };
const deadEndpoint = { isSuccess: false, isEndpointWide: true };
const oneBadEvent = { isSuccess: false, isEndpointWide: false };

test('a lane starts small, and never beyond what its endpoint allows', () => {
  assert.deepEqual(newLane(64), { window: 4, inFlight: 0 });
  assert.deepEqual(newLane(1), { window: 1, inFlight: 0 });
});

const cases: readonly {
  readonly name: string;
  readonly window: number;
  readonly result: typeof success;
  readonly left: number;
}[] = [
  { name: 'a success opens it by one', window: 4, result: success, left: 5 },
  { name: 'a success opens it no further than the endpoint allows', window: 8, result: success, left: 8 },
  { name: 'a failure of the whole endpoint halves it', window: 8, result: deadEndpoint, left: 4 },
  { name: 'a failure of the whole endpoint leaves room for one', window: 1, result: deadEndpoint, left: 1 },
  { name: 'a failure of one event leaves it as it is', window: 5, result: oneBadEvent, left: 5 },
];

for (const { name, window, result, left } of cases) {
  test(name, () => {
    assert.deepEqual(afterResult({ window, inFlight: 3 }, result, 8), { window: left, inFlight: 2 });
  });
}

test('a lane has room for its window less what is in flight, and never less than none', () => {
  let lane: Lane = newLane(2);
  assert.equal(roomOf(lane), 2);
  lane = afterSend(afterSend(lane));
  assert.equal(roomOf(lane), 0);
  assert.equal(roomOf(withinMax(lane, 1)), 0);
});

test('an endpoint that allows less than before narrows its lane at once', () => {
  assert.deepEqual(withinMax({ window: 40, inFlight: 30 }, 3), { window: 3, inFlight: 30 });
  assert.deepEqual(withinMax({ window: 2, inFlight: 1 }, 3), { window: 2, inFlight: 1 });
});

test('a result that no lane waited for makes no negative count', () => {
  assert.deepEqual(afterResult({ window: 4, inFlight: 0 }, success, 8), { window: 5, inFlight: 0 });
});
