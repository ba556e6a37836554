import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestName } from './field-error.ts';

const known = [
  'url',
  'events',
  'collections',
  'headers',
  'maxInFlight',
  'timeoutMs',
  'schedule',
  'secret',
  'id',
];

test('a slip in a name is recognised', () => {
  const slips = {
    event: 'events',
    Events: 'events',
    evnets: 'events',
    collection: 'collections',
    header: 'headers',
    max_in_flight: 'maxInFlight',
    'max-inflight': 'maxInFlight',
    timeout: 'timeoutMs',
    schedules: 'schedule',
    secrte: 'secret',
    ulr: 'url',
  };
  for (const [slip, meant] of Object.entries(slips)) assert.equal(nearestName(slip, known), meant, slip);
});

test('a name without a similar one has no suggestion', () => {
  for (const name of ['', 'x', 'is', 'filter', 'body', 'reties', 'e'.repeat(100_000)])
    assert.equal(nearestName(name, known), undefined, name.slice(0, 20));
  assert.equal(nearestName('event', []), undefined);
});
