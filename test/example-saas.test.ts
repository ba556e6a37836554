// Both engines: a sign-up makes an instance.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { root } from '../tools/build/root.ts';
import { eventually } from './support/eventually.ts';
import { makeOperatorKey } from './support/operator-stage.ts';
import { startService, type TestService } from './support/service.ts';

/** Starts the example and returns the address that it prints. It is ended with the test. */
async function startExample(t: TestContext, { url }: TestService, key: string): Promise<string> {
  const env = { ...process.env, CHANCERY_URL: url, OPERATOR_KEY: key, PORT: '0' };
  const child = spawn(process.execPath, [join(root, 'examples', 'saas', 'server.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the example has ended without a line');
}

test('a sign-up of the example makes an instance, and its first webhook is verified and shown', async (t) => {
  const service = await startService(t);
  const { key } = await makeOperatorKey(service, ['instances:read', 'instances:write']);
  const example = await startExample(t, service, key);
  const page = async (path: string): Promise<string> => (await fetch(example + path)).text();
  const [, formKey = ''] = /name="key" value="([^"]+)"/.exec(await page('/')) ?? [];
  const form = { key: formKey, company: 'Acme & Sons', email: 'ada@acme.example', password: 'correct horse' };
  const signUp = (members: object): Promise<Response> =>
    fetch(`${example}/sign-up`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, ...members }),
      redirect: 'manual',
    });
  const refused = await signUp({ key: 'another', email: 'nobody' });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /superuser/);
  for (const again of [await signUp({}), await signUp({})])
    assert.deepEqual([again.status, again.headers.get('location')], [303, '/customers/acme-sons']);
  assert.match(await page('/customers/acme-sons'), /Acme &#38; Sons/);

  const path = '/i/acme-sons/api/collections/orders/records';
  const order = await service.request(path, { method: 'POST', body: { title: '<Lamp>' } });
  assert.equal(order.status, 201, order.text);
  await eventually('the webhook is shown', async () =>
    (await page('/customers/acme-sons')).includes('<li>&#60;Lamp&#62;</li>'),
  );
  const forged = await fetch(`${example}/hooks/acme-sons`, {
    method: 'POST',
    headers: {
      'webhook-id': 'x',
      'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
      'webhook-signature': 'v1,AAAA',
    },
    body: '{"data":{"title":"forged"}}',
  });
  assert.equal(forged.status, 401);
  assert.doesNotMatch(await page('/customers/acme-sons'), /forged/);
});
