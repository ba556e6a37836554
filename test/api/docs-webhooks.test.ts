import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { assertShown } from '../support/assert-shown.ts';
import { eventually } from '../support/eventually.ts';
import { startWebhookService } from '../support/webhook-service.ts';

const read = (page: string): string => readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
const start = read('webhooks.md');
const reference = read('webhooks-reference.md');
const pages = ['webhooks-choose.md', 'webhooks-verify.md', 'webhooks-operate.md', 'webhooks-reference.md'];
const endpoints = '/api/webhooks/endpoints';

interface Example {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly status: number;
  readonly expected: string;
}

test('every example of the pages about webhooks is answered as it says', async (t) => {
  const service = await startWebhookService(t);
  // What the page takes for granted beside `posts`.
  const orders = { name: 'orders', fields: [{ name: 'status', type: 'text' }] };
  await service.call('POST', '/api/collections', { body: orders });
  /** What stands for each name in braces since it was made. */
  const seen = new Map<string, string>();
  const fill = (part: string): string =>
    part.replaceAll(/\{(\w+)\}/g, (whole, name: string) => seen.get(name) ?? whole);
  for (const { method, path, headers, body, status, expected } of examplesOf(pages.map(read).join('\n'))) {
    const sent = body === '' ? {} : { body };
    const answer = await service.request(fill(path), { method, token: true, headers, ...sent });
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    if (path === endpoints && status === 201)
      for (const name of ['id', 'secret']) seen.set(name, String(answer.json[name]));
    if (expected === '') assert.equal(answer.text, '');
    else assertShown(answer.json, JSON.parse(fill(expected)), `${method} ${path}`);
  }
  assert.match(seen.get('secret') ?? '', /^whsec_/);
});

test('the first steps of docs/webhooks.md lead to a webhook', async (t) => {
  if (spawnSync('curl', ['--version']).status !== 0) return t.skip('curl is not installed here');
  const service = await startWebhookService(t);
  const { email, password } = service.superuser;
  const [, steps = ''] = /^## Begin\n.*?^```sh\n(.*?)^```/ms.exec(start) ?? [];
  const script = steps
    .replace('http://127.0.0.1:8090', service.url)
    .replace('you@example.com', email)
    .replace('correct horse', password)
    // The catcher is asked below until it has something.
    .replace(/^sleep .*/ms, 'echo; echo "catcher $ID"');
  assert.notEqual(script, steps);
  const shell = spawn('bash', ['-eu', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [code]] = await Promise.all([text(shell.stdout), once(shell, 'exit')]);
  assert.equal(code, 0, output);
  const [, catcher = ''] = /^catcher (\S+)$/m.exec(output) ?? [];
  const request = await eventually('the webhook', async () => {
    const { requests } = await service.call('GET', `/api/webhooks/catchers/${catcher}`);
    return requests[0];
  });
  const { event, collection, data } = JSON.parse(request.body);
  assert.deepEqual([event, collection, data.title], ['record.create', 'posts', 'Hello']);
});

test('a payload with the values before is as docs/webhooks-reference.md shows it', async (t) => {
  const service = await startWebhookService(t);
  const shown = JSON.parse(/^```json\n([^`]*"previous": [^`]*)^```/m.exec(reference)?.[1] ?? '{}');
  await service.addEndpoint({ payload: 'previous', events: ['record.update'] });
  const records = '/api/collections/posts/records';
  const { id } = shown.data;
  await service.call('POST', records, { body: { id, ...shown.previous }, status: 201 });
  await service.call('PATCH', `${records}/${id}`, { body: shown.data });
  const [request] = await service.receiver.waitForRequests(1);
  const sent = JSON.parse(String(request?.body));
  assert.deepEqual(Object.keys(sent), Object.keys(shown));
  const { timestamp, instance_id } = sent;
  assertShown(sent, { ...shown, timestamp, instance_id }, 'the body');
});

/** Those that delete an endpoint come last, wherever the page has them: others need it. */
function examplesOf(page: string): readonly Example[] {
  const found = [
    ...page.matchAll(/^```http\n(\w+) (\S+)\n((?:[\w-]+: [^\n]*\n)*)(.*?)\n(\d{3})\n(.*?)^```/gms),
  ];
  assert.equal(found.length, page.match(/^```http/gm)?.length, 'an example is not understood');
  const examples = found.map(
    ([, method = '', path = '', headers = '', body = '', status, expected = '']) => ({
      method,
      path,
      headers: Object.fromEntries(
        [...headers.matchAll(/^([\w-]+): (.*)$/gm)].map(([, name, value]) => [name, value]),
      ),
      body: body.trim(),
      status: Number(status),
      expected,
    }),
  );
  const isDeletion = ({ method, path }: Example): boolean =>
    method === 'DELETE' && path === `${endpoints}/{id}`;
  return [...examples.filter((one) => !isDeletion(one)), ...examples.filter(isDeletion)];
}
