import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { giveBackMemory } from './give-back-memory.ts';

test('what nobody holds any more is collected in a calm second, however old it is', async () => {
  const leftBehind = new WeakRef(makeOld());
  assert.notEqual(leftBehind.deref(), undefined);
  giveBackMemory();
  await eventually('it is collected', () => leftBehind.deref() === undefined);
});

/** An object that has outlived so many collections of young ones that only one of all collects it. */
function makeOld(): object {
  const old = { text: 'made at the start' };
  for (let round = 0; round < 100; round += 1) Array.from({ length: 100_000 }, () => old);
  return old;
}
