// Both engines: orders and filters compile to SQL of each.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { askPage } from '../support/ask-page.ts';
import { startService } from '../support/service.ts';

const page = ['lists.md', 'list-costs.md']
  .map((name) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8'))
  .join('\n');

test('every request of docs/lists.md and docs/list-costs.md is answered as it says', async (t) => {
  const service = await startService(t);
  const ask = async (path: string, body: object): Promise<void> => {
    const { status, text } = await service.request(path, { method: 'POST', token: true, body });
    assert.ok(status < 300, text);
  };
  // The first block of JSON: what the requests are about.
  const [, json = ''] = /^```json\n(.*?)^```$/ms.exec(page) ?? [];
  const shown: Shown = JSON.parse(json);
  for (const definition of shown.collections) await ask('/api/collections', { listRule: '', ...definition });
  for (const [collection, records] of Object.entries(shown.records))
    for (const record of records) await ask(`/api/records/${collection}`, record);
  await askPage(service, page, new Map([['TOKEN', service.superuser.token]]));
});

interface Shown {
  readonly collections: readonly object[];
  readonly records: Readonly<Record<string, readonly object[]>>;
}
