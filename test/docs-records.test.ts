import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { askPage } from './support/ask-page.ts';
import { startService } from './support/service.ts';

const page = ['records.md', 'record-history.md']
  .map((name) => readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8'))
  .join('\n');

test('every request of docs/records.md and docs/record-history.md is answered as it says', async (t) => {
  const service = await startService(t);
  const rules = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
  const author = { name: 'author', type: 'relation', collectionId: 'authors' };
  for (const body of [
    { id: 'authors', name: 'authors', ...rules },
    { name: 'posts', ...rules, fields: [{ name: 'title', type: 'text' }, author] },
  ])
    await service.request('/api/collections', { method: 'POST', token: true, body });
  await askPage(service, page, new Map([['{token}', service.superuser.token]]));
});
