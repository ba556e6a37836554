import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { compareCalls, type CallTally } from './compare-calls.ts';
import { openEnginePair, type EnginePair } from './engine-pair.ts';
import { inSample } from '../support/sample.ts';

let engines: EnginePair;
before(async () => {
  engines = await openEnginePair();
});
after(() => Promise.all(engines.map((engine) => engine.stop())));

test('both engines work out thousands of moments and distances alike', async (context) => {
  const seed = 20_261_120;
  context.diagnostic(`seed ${seed}; more with npm run parity`);
  const tally: CallTally = { values: 0, telling: 0 };
  const cases = inSample(5_000, 20_000);
  const difference = await compareCalls(engines, { cases, seed }, tally);
  assert.equal(difference && JSON.stringify(difference), undefined);
  assert.ok(tally.values >= cases, 'too few values were worked out');
  assert.ok(tally.telling > tally.values / 4, 'too many values are empty');
});
