import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { compareRelatedWorld } from './compare-related-world.ts';
import { compareWithoutHidden } from './compare-without-hidden.ts';
import type { Tally } from './compare-world.ts';
import { openEnginePair, type EnginePair } from './engine-pair.ts';
import { makeRelatedTables } from './related-tables.ts';
import { readRelatedCorpus, runRelatedParity, runWithoutHidden } from './run-related-parity.ts';
import { inSample } from '../support/sample.ts';

let engines: EnginePair;
before(async () => {
  engines = await openEnginePair();
  await makeRelatedTables(engines);
});
after(() => Promise.all(engines.map((engine) => engine.stop())));

const nothing = (): Tally => ({ questions: 0, refused: 0, telling: 0 });

test('what the engines once answered differently of related records they answer alike', async () => {
  for (const { about, world } of readRelatedCorpus()) {
    assert.equal(await compareRelatedWorld(engines, world), undefined, about);
    assert.equal(await compareWithoutHidden(engines, world), undefined, about);
  }
});

test('both engines answer hundreds of random questions about related records alike', async (context) => {
  const seed = 20_261_120;
  context.diagnostic(`seed ${seed}; more with npm run parity`);
  const tally = nothing();
  const cases = inSample(250, 900);
  const failure = await runRelatedParity(engines, { cases, seed }, tally);
  assert.equal(failure && JSON.stringify(failure), undefined);
  assert.ok(tally.questions >= cases, 'too few questions were asked');
  assert.ok(tally.telling > tally.questions / 7, 'too many answers are everything or nothing');
  assert.ok(tally.refused < tally.questions / 7, 'too many questions are refused');
});

test('A22 Q-56 every answer is the one without the records that the caller may not list', async (context) => {
  const seed = 20_261_122;
  context.diagnostic(`seed ${seed}; more with npm run parity -- --only hidden`);
  const tally = nothing();
  const failure = await runWithoutHidden(engines, { cases: 450, seed }, tally);
  assert.equal(failure && JSON.stringify(failure), undefined);
  assert.ok(tally.questions >= 450, 'too few questions were asked');
  assert.ok(tally.telling > tally.questions / 10, 'hidden records would hardly ever change an answer');
  assert.ok(tally.refused < tally.questions / 7, 'too many questions are refused');
});
