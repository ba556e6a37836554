import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sign } from '../kit/src/sign.ts';
import { installKit } from './support/install-kit.ts';
import { temporaryTree } from './support/temporary-tree.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';

test('the receiver with Express keeps what is genuine and refuses what is not', async (t) => {
  const folder = temporaryTree(t, { 'package.json': '{ "type": "module" }' });
  cpSync(join(root, 'examples', 'express', 'receiver.ts'), join(folder, 'receiver.ts'));
  installKit(folder);
  symlinkSync(join(root, 'node_modules', 'express'), join(folder, 'node_modules', 'express'));
  await assertReceives(await start(t, folder, [process.execPath, 'receiver.ts']));
});

test('the receiver in Python keeps what is genuine and refuses what is not', async (t) => {
  if (spawnSync('python3', ['--version']).status !== 0)
    return t.skip('not run: python3 is not installed here');
  const folder = temporaryTree(t, {});
  cpSync(join(root, 'examples', 'python', 'receiver.py'), join(folder, 'receiver.py'));
  cpSync(join(root, 'docs', 'verify', 'verify.py'), join(folder, 'verify.py'));
  await assertReceives(await start(t, folder, ['python3', 'receiver.py']));
});

/** Sends a receiver what it may get, and looks at what it has kept. */
async function assertReceives(url: string): Promise<void> {
  const posts = async (): Promise<unknown> => (await fetch(`${url}/posts`)).json();
  const created = await webhook({ id: 'evt1', sequence: 1, event: 'record.create', title: 'Grüße 🌍' });
  const forged = { ...created, body: created.body.replace('Grüße', 'Forged') };
  const unsigned = { ...created, headers: { 'content-type': 'application/json' } };
  const byAnother = await webhook({ id: 'evt1', sequence: 1, title: 'Forged', by: 'another secret of 16' });
  const old = await webhook({ id: 'evt1', sequence: 1, title: 'Old', ageSeconds: 400 });
  for (const wrong of [forged, unsigned, byAnother, old]) {
    const status = await send(url, wrong);
    assert.ok([400, 401].includes(status), String(status));
  }
  assert.deepEqual(await posts(), []);

  assert.equal(await send(url, created), 200);
  assert.deepEqual(await posts(), [{ id: 'r1', title: 'Grüße 🌍' }]);
  assert.equal(await send(url, await webhook({ id: 'evt3', sequence: 3, title: 'third' })), 200);
  assert.equal(await send(url, await webhook({ id: 'evt2', sequence: 2, title: 'second, and late' })), 200);
  assert.equal(await send(url, created), 200);
  assert.deepEqual(await posts(), [{ id: 'r1', title: 'third' }]);

  assert.equal(
    await send(url, await webhook({ id: 'evt4', sequence: 4, event: 'record.delete', title: 'third' })),
    200,
  );
  assert.deepEqual(await posts(), []);
}

interface WebhookParts {
  readonly id: string;
  readonly sequence: number;
  readonly title: string;
  readonly event?: string;
  readonly by?: string;
  readonly ageSeconds?: number;
}

interface SignedWebhook {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

async function webhook(parts: WebhookParts): Promise<SignedWebhook> {
  const { id, sequence, title, event = 'record.update', by = secret, ageSeconds = 0 } = parts;
  const timestamp = `2026-11-20T09:35:2${sequence}.114Z`;
  const body = JSON.stringify({
    event,
    timestamp,
    instance_id: 'i',
    collection: 'posts',
    data: { id: 'r1', title },
  });
  const timestampSeconds = Math.floor(Date.now() / 1000) - ageSeconds;
  const headers = await sign({ secret: by, id, body, timestampSeconds });
  return { headers: { ...headers, 'x-service-sequence': String(sequence) }, body };
}

async function send(url: string, { headers, body }: SignedWebhook): Promise<number> {
  const answer = await fetch(`${url}/hook`, { method: 'POST', headers, body });
  await answer.text();
  return answer.status;
}

/** Starts a program and returns the address that it prints. It is ended with the test. */
async function start(
  t: TestContext,
  folder: string,
  [command = '', ...options]: readonly string[],
): Promise<string> {
  const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: '0' };
  const child = spawn(command, options, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const address = await firstLine(child);
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+$/);
  return address;
}

async function firstLine(child: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the program has ended without a line');
}
