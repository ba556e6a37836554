import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../support/service.ts';

test('A29 a filter that ends at an ampersand is refused, and says how one is written', async (t) => {
  const service = await startService(t);
  const body = { name: 'posts', listRule: '', fields: [{ name: 'title', type: 'text' }] };
  await service.request('/api/collections', { method: 'POST', token: true, body });
  const paths = ['/api/collections/posts/records', '/api/records/posts', '/i/default/api/records/posts'];
  for (const query of [
    "filter=title='a'&&title='b'",
    "filter=title='a'%20&&%20title='b'",
    "filter=title='a'+%26+b&+title='b'",
    "page=1&&filter=title='a'",
    "%20page=1&filter=title='a'",
  ])
    for (const path of paths) {
      const answer = await service.request(`${path}?${query}`);
      assert.equal(answer.status, 400, `${path}?${query}`);
      assert.match(answer.json.message, /%26/);
    }
  for (const query of [
    "filter=title!='a'%26%26title!='b'",
    "filter=title!='a'&",
    "&filter=title!='a'",
    "filter=title!='a'&x=1&unknown",
    'page=1&&perPage=1',
    "search=filter='x'&&page=1",
  ])
    for (const path of paths)
      assert.equal((await service.request(`${path}?${query}`)).status, 200, `${path}?${query}`);
});
