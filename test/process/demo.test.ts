import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const demo = fileURLToPath(new URL('../../tools/demo.ts', import.meta.url));

interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** Where it may put what it needs for a while. */
  readonly temporary: string;
}

test('the demo shows every webhook and that each is genuine, and leaves nothing behind', async (t) => {
  const { child, output, temporary } = startDemo(t);
  await once(child, 'close');
  const text = output();
  assert.equal(child.exitCode, 0, text);
  const genuine = text.match(/← record\.\w+ .*X-Service-Signature ok {2}standardwebhooks ok$/gm) ?? [];
  assert.deepEqual(
    genuine.map((line) => line.split(/\s+/)[1]).toSorted((a, b) => (a ?? '').localeCompare(b ?? '')),
    [
      ...Array.from({ length: 3 }, () => 'record.create'),
      'record.delete',
      ...Array.from({ length: 2 }, () => 'record.update'),
    ],
  );
  assert.match(text, /^ {2}← .*X-Service-Signature REJECTED {2}standardwebhooks REJECTED$/m);
  assert.match(text, /6 changes, 6 webhooks: each arrived once/);
  assert.match(text, /by -views: Grüße 🌍, Hello, world$/m);
  // Not a terminal: no colours.
  assert.equal(text.includes('\u001b'), false);
  assert.deepEqual(readdirSync(temporary), []);
});

test('a demo that is interrupted says so, fails, and ends what it started', async (t) => {
  const { child, output, temporary } = startDemo(t);
  const url = await eventually('the service runs', () => /service +(http:\S+)/.exec(output())?.[1]);
  child.kill('SIGTERM');
  await once(child, 'close');
  assert.equal(child.exitCode, 1);
  assert.match(output(), /The demo failed: ended by SIGTERM\./);
  await assert.rejects(fetch(url), TypeError);
  assert.deepEqual(readdirSync(temporary), []);
});

/** From another directory and with settings of somebody else around it, neither of which may matter. */
function startDemo(t: TestContext): Running {
  const [temporary, elsewhere] = [temporaryFolder(t), temporaryFolder(t)];
  const child = spawn(process.execPath, [demo], {
    cwd: elsewhere,
    env: { ...process.env, TMPDIR: temporary, CHANCERY_PORT: 'none', CHANCERY_KEY: 'no key' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGTERM'));
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  }
  return { child, output: () => text, temporary };
}
