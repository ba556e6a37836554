import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
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

/** Every member that is shown is there; of a list, every item. */
function assertShown(actual: unknown, shown: unknown, where: string): void {
  if (typeof shown !== 'object' || shown === null) return assert.equal(actual, shown, where);
  assert.ok(typeof actual === 'object' && actual !== null, where);
  if (Array.isArray(shown))
    assert.equal(Array.isArray(actual) ? actual.length : undefined, shown.length, where);
  const members = new Map<string, unknown>(Object.entries(actual));
  for (const [name, value] of Object.entries(shown))
    assertShown(members.get(name), value, `${where} ${name}`);
}
