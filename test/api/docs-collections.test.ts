import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assertShown } from '../support/assert-shown.ts';
import { startService } from '../support/service.ts';

const page = readFileSync(new URL('../../docs/collections.md', import.meta.url), 'utf8');

test('every example of docs/collections.md is answered as it says', async (t) => {
  const service = await startService(t);
  const examples = [...page.matchAll(/^```http\n(\w+) (\S+)\n(.*?)\n(\d{3})\n(.*?)^```/gms)];
  assert.equal(examples.length, page.match(/^```http/gm)?.length, 'an example is not understood');
  for (const [, method = '', path = '', body = '', status, expected = ''] of examples) {
    const hasBody = body.trim() !== '';
    const answer = await service.request(path, { method, token: true, ...(hasBody ? { body } : {}) });
    assert.equal(answer.status, Number(status), `${method} ${path}: ${answer.text}`);
    if (expected.trim() === '') assert.equal(answer.text, '');
    else assertShown(answer.json, JSON.parse(expected), `${method} ${path}`);
  }
});
