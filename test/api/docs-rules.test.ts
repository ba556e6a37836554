// Both engines: rules compile to SQL of each.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assertShown } from '../support/assert-shown.ts';
import { startService } from '../support/service.ts';

const page = readFileSync(new URL('../../docs/rules.md', import.meta.url), 'utf8');

test('every example of docs/rules.md is answered as it says', async (t) => {
  const service = await startService(t);
  const examples = [...page.matchAll(/^```http\nas (\w+)\n(\w+) (\S+)\n(.*?)\n?(\d{3})\n(.*?)^```/gms)];
  assert.equal(examples.length, page.match(/^```http/gm)?.length, 'an example is not understood');
  let ann = '';
  let token = '';
  for (const [, who = '', method = '', path = '', body = '', status, expected = ''] of examples) {
    const filled = (text: string): string => text.replaceAll('{ann}', ann);
    const as = who === 'superuser' ? { token: true as const } : who === 'ann' ? { token } : {};
    const answer = await service.request(filled(path), {
      method,
      ...as,
      ...(body.trim() === '' ? {} : { body: filled(body) }),
    });
    assert.equal(answer.status, Number(status), `${method} ${path}: ${answer.text}`);
    assertShown(answer.json, JSON.parse(filled(expected)), `${method} ${path}`);
    if (path.endsWith('/users/records')) {
      ann = answer.json.id;
      assert.equal('email' in answer.json, false);
    }
    if (path.endsWith('/auth-with-password') && answer.status === 200) token = answer.json.token;
  }
});
