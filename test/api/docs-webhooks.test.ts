import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assertShown } from '../support/assert-shown.ts';
import { startWebhookService } from '../support/webhook-service.ts';

const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');

test('every example of docs/webhooks.md is answered as it says', async (t) => {
  const service = await startWebhookService(t);
  const examples = [...page.matchAll(/^```http\n(\w+) (\S+)\n(.*?)\n(\d{3})\n(.*?)^```/gms)];
  assert.equal(examples.length, page.match(/^```http/gm)?.length, 'an example is not understood');
  /** What stands for each name in braces since it was made. */
  const seen = new Map<string, string>();
  const fill = (text: string): string =>
    text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => seen.get(name) ?? whole);
  for (const [, method = '', path = '', body = '', status, expected = ''] of examples) {
    const given = body.trim() === '' ? {} : { body };
    const answer = await service.request(fill(path), { method, token: true, ...given });
    assert.equal(answer.status, Number(status), `${method} ${path}: ${answer.text}`);
    if (answer.status === 201) for (const name of ['id', 'secret']) seen.set(name, String(answer.json[name]));
    if (expected === '') assert.equal(answer.text, '');
    else assertShown(answer.json, JSON.parse(fill(expected)), `${method} ${path}`);
  }
  assert.match(seen.get('secret') ?? '', /^whsec_/);
});
