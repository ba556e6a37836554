// Both engines: the page shows queries that both understand.
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { followExamples } from '../support/follow-examples.ts';
import { startService } from '../support/service.ts';

test('every example of docs/views.md is answered as it says', async (t) => {
  const page = readFileSync(new URL('../../docs/views.md', import.meta.url), 'utf8');
  await followExamples(await startService(t), page);
});
