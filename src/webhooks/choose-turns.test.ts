import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseTurns, type Candidate } from './scheduler.ts';

/** `{ a: { x: 2 } }`: instance a, whose endpoint x would take two. */
function contenders(
  demand: Readonly<Record<string, Readonly<Record<string, number>>>>,
): readonly Candidate[] {
  return Object.entries(demand).map(([instanceId, lanes]) => ({
    instanceId,
    lanes: Object.entries(lanes).map(([endpointId, sendable]) => ({ endpointId, sendable })),
  }));
}

const cases: readonly {
  readonly name: string;
  readonly demand: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly capacity: number;
  readonly turns: string;
}[] = [
  { name: 'nothing is chosen where nothing is asked for', demand: { a: {} }, capacity: 9, turns: '' },
  { name: 'nothing is chosen without capacity', demand: { a: { x: 3 } }, capacity: 0, turns: '' },
  { name: 'more tests than slots are no capacity either', demand: { a: { x: 3 } }, capacity: -2, turns: '' },
  { name: 'a lane gets no more than it would take', demand: { a: { x: 2 } }, capacity: 9, turns: 'ax ax' },
  {
    name: 'a flood of one instance leaves a quiet one its turn in each round',
    demand: { noisy: { x: 1_000, y: 1_000 }, quiet: { z: 2 } },
    capacity: 5,
    turns: 'noisyx quietz noisyy quietz noisyx',
  },
  {
    name: 'endpoints of one instance take turns',
    demand: { a: { x: 3, y: 1, z: 3 } },
    capacity: 6,
    turns: 'ax ay az ax az ax',
  },
  {
    name: 'a lane that is through leaves its turns to the others',
    demand: { a: { x: 1, y: 1 }, b: { z: 4 } },
    capacity: 9,
    turns: 'ax bz ay bz bz bz',
  },
];

for (const { name, demand, capacity, turns } of cases) {
  test(name, () => {
    const chosen = chooseTurns(contenders(demand), capacity);
    assert.equal(chosen.map(({ instanceId, endpointId }) => instanceId + endpointId).join(' '), turns);
  });
}

test('what was asked is left as it was', () => {
  const asked = contenders({ a: { x: 2, y: 1 } });
  chooseTurns(asked, 3);
  assert.deepEqual(asked, contenders({ a: { x: 2, y: 1 } }));
});
