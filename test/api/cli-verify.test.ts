import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWebhookService } from '../support/webhook-service.ts';

test('verify says of a webhook that came whether it is genuine, from headers in lines, JSON and files', async (t) => {
  const service = await startWebhookService(t);
  const { secret } = await service.addEndpoint();
  await service.addPost();
  await service.delivery('delivered', ({ status }) => status === 'delivered');
  const [request] = service.receiver.requests;
  assert.ok(request !== undefined);
  const folder = temporaryFolder(t);
  const put = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const entries = Object.entries(request.headers);
  const lines = entries.map(([name, value]) => `${name}: ${String(value)}`);
  const body = put('body', request.body);
  const pairs = entries.map(([name, value]) => ({ name, value }));
  const ways = [
    ['--headers', put('lines', `POST / HTTP/1.1\r\n${lines.join('\r\n')}\r\n`)],
    ['--headers', put('curl', lines.map((line) => `< ${line}\n`).join(''))],
    ['--headers', put('object.json', JSON.stringify(request.headers))],
    ['--headers', put('list.json', JSON.stringify(pairs))],
    lines.flatMap((line) => ['--headers', line]),
  ];
  for (const way of ways) {
    const { code, stdout, stderr } = await runInProcess(['verify', '--secret', secret, ...way, body]);
    assert.equal(code, 0, stdout + stderr);
    assert.deepEqual(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ +/, 2)),
      [
        ['ok', 'headers'],
        ['ok', 'secret'],
        ['ok', 'timestamp'],
        ['ok', 'signature'],
      ],
    );
  }
  const file = put('secret', `${secret}\n`);
  const headers = ['--headers', join(folder, 'lines')];
  const input = `${request.body.toString()}\n`;
  const wrong = await runInProcess(['verify', '--secret-file', file, ...headers, '--json', '-'], { input });
  assert.equal(wrong.code, 1, wrong.stderr);
  assert.match(wrong.stdout, /^\{\n {2}"valid": false,/);
  assert.match(wrong.stdout, /"name": "signature",\n {6}"state": "failure",/);
  const at = request.receivedAt + 301_000;
  for (const time of [String(Math.floor(at / 1_000) + 2), new Date(at + 2_000).toISOString()]) {
    const args = ['verify', '--secret', secret, ...headers, '--at', time, body];
    assert.match((await runInProcess(args)).stdout, /^failure {2}timestamp {2}It is 5 min \d+ s old/m);
    assert.equal((await runInProcess([...args, '--tolerance', '600'])).code, 0);
  }
});

test('verify refuses a command line that cannot be meant', async (t) => {
  const folder = temporaryFolder(t);
  const empty = join(folder, 'empty');
  writeFileSync(empty, 'nothing');
  const header = ['--headers', 'webhook-id: a'];
  const cases = [
    [['-'], 64, /There are no headers/],
    [[...header, '-'], 64, /secret of the endpoint is missing/],
    [[...header, '--secret', 'a', '--secret-file', empty, '-'], 64, /secret of the endpoint is missing/],
    [['--secret', 'a', '--headers', empty, '-'], 64, /There are no headers in/],
    [['--secret', 'a', ...header, '--at', 'noon', '-'], 64, /--at must be a date/],
    [['--secret', 'a', ...header, join(folder, 'none')], 74, /ENOENT/],
  ] as const;
  for (const [args, code, says] of cases) {
    const ended = await runInProcess(['verify', ...args]);
    assert.equal(ended.code, code, ended.stderr);
    assert.match(ended.stderr, says);
  }
});
