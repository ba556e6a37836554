import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDocBlocks } from '../support/doc-blocks.ts';
import { startWebhookService } from '../support/webhook-service.ts';

const requests = readDocBlocks()
  .filter(({ page, language }) => page === 'docs/mirrors.md' && language === 'http')
  .map(({ text }) => /^(\w+) (\S+)\n(\{.*?^\}|\{.*?\})?(?:\n+(\d{3})\n(.*))?/ms.exec(text) ?? []);

// test/shipping/readme.test.ts types the rest of the page.
test('the requests of docs/mirrors.md are answered as it says', async (t) => {
  const service = await startWebhookService(t);
  const values = ['draft', 'published'];
  const { fields } = await service.call('GET', '/api/collections/posts');
  const status = { type: 'select', name: 'status', values, maxSelect: 1 };
  await service.call('PATCH', '/api/collections/posts', { body: { fields: [...fields, status] } });
  await service.call('POST', '/api/collections/posts/records', {
    body: { title: 'there', status: 'published' },
  });
  const [create = [], reconcile = [], backfill = []] = requests;
  const [, method = '', path = '', body = ''] = create;
  const { url } = service.receiver;
  const made = await service.call(method, path, { body: { ...JSON.parse(body), url }, status: 201 });
  const [request] = await service.receiver.waitForRequests(1);
  assert.equal(request?.headers['x-service-transition'], 'enter');
  const at = (place: string): string => place.replace('{id}', made.id);
  assert.equal((await service.call(reconcile[1] ?? '', at(reconcile[2] ?? ''))).reconciling, true);
  const answer = await service.call(backfill[1] ?? '', at(backfill[2] ?? ''), {
    body: JSON.parse(backfill[3] ?? ''),
    status: Number(backfill[4]),
  });
  assert.deepEqual(answer, JSON.parse(backfill[5] ?? ''));
  assert.equal(requests.length, 3);
});
