import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { followExamples } from '../support/follow-examples.ts';
import { startService } from '../support/service.ts';

const page = readFileSync(new URL('../../docs/collections.md', import.meta.url), 'utf8');

test('every example of docs/collections.md is answered as it says', async (t) => {
  await followExamples(await startService(t), page);
});
