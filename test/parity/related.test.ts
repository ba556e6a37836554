import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { compareRelatedWorld, makeRelatedTables } from './compare-related-world.ts';
import type { Tally } from './compare-world.ts';
import { openEnginePair, type EnginePair } from './engine-pair.ts';
import { readRelatedCorpus, runRelatedParity } from './run-related-parity.ts';

let engines: EnginePair;
before(async () => {
  engines = await openEnginePair();
  await makeRelatedTables(engines);
});
after(() => Promise.all(engines.map((engine) => engine.stop())));

const nothing = (): Tally => ({ questions: 0, refused: 0, telling: 0 });

test('what the engines once answered differently of related records they answer alike', async () => {
  for (const { about, world } of readRelatedCorpus())
    assert.equal(await compareRelatedWorld(engines, world), undefined, about);
});

test('both engines answer thousands of random questions about related records alike', async (context) => {
  const seed = 20_261_120;
  context.diagnostic(`seed ${seed}; more with npm run parity`);
  const tally = nothing();
  const failure = await runRelatedParity(engines, { cases: 2_400, seed }, tally);
  assert.equal(failure && JSON.stringify(failure), undefined);
  assert.ok(tally.questions >= 2_400, 'too few questions were asked');
  assert.ok(tally.telling > tally.questions / 7, 'too many answers are everything or nothing');
  assert.ok(tally.refused < tally.questions / 7, 'too many questions are refused');
});
