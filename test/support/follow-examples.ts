import assert from 'node:assert/strict';
import { assertShown } from './assert-shown.ts';
import type { TestService } from './service.ts';

/** Sends the requests of a page as a superuser, in order, and compares the answers with those that it shows. */
export async function followExamples(service: TestService, page: string): Promise<void> {
  const examples = [...page.matchAll(/^```http\n(\w+) (\S+)\n(.*?)\n(\d{3})\n(.*?)^```/gms)];
  assert.equal(examples.length, page.match(/^```http/gm)?.length, 'an example is not understood');
  for (const [, method = '', path = '', body = '', status, expected = ''] of examples) {
    const hasBody = body.trim() !== '';
    const answer = await service.request(path, { method, token: true, ...(hasBody ? { body } : {}) });
    assert.equal(answer.status, Number(status), `${method} ${path}: ${answer.text}`);
    if (expected.trim() === '') assert.equal(answer.text, '');
    else assertShown(answer.json, JSON.parse(expected), `${method} ${path}`);
  }
}
