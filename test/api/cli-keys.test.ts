import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describePlaces } from '../support/command-stage.ts';

describePlaces('key', (start) => {
  test('a key is created, listed and revoked', async (t) => {
    const { run, ask } = await start(t);
    const made = await run([
      'key',
      'create',
      'import',
      '--scopes',
      'records:read,records:write',
      '--collections',
      'posts',
    ]);
    assert.equal(made.code, 0, made.stderr);
    const [, id = ''] = /^The key (\S+) is shown only once:\n$/.exec(made.stderr) ?? [];
    const token = made.stdout.trimEnd();
    const path = '/api/collections/posts/records';
    assert.equal((await ask(path, { token })).status, 200);
    const [listed] = JSON.parse((await run(['key', 'list', '--json'])).stdout);
    assert.deepEqual([listed.id, listed.name, listed.scopes.length], [id, 'import', 2]);
    assert.ok(!(await run(['key', 'list'])).stdout.includes(token));
    assert.deepEqual(await run(['key', 'revoke', id]), {
      code: 0,
      stdout: `Key ${id} revoked.\n`,
      stderr: '',
    });
    assert.equal((await ask(path, { token })).status, 401);
    assert.notEqual((await run(['key', 'revoke', id])).code, 0);
    const wrong = await run(['key', 'create', 'x', '--scopes', 'records:reed']);
    assert.deepEqual([wrong.code, wrong.stdout], [65, '']);
    assert.equal((await run(['key', 'create', 'x'])).code, 64);
  });

  test('a text that is no number is refused for a field of numbers', async (t) => {
    const { run } = await start(t);
    const { stdout } = await run(['record', 'create', 'posts', 'title=A', 'pages=3', '--json']);
    const { id } = JSON.parse(stdout);
    const wrong = await run(['record', 'update', 'posts', id, 'pages=abc']);
    assert.deepEqual([wrong.code, wrong.stdout], [65, '']);
    assert.match(wrong.stderr, /pages/);
    assert.equal(JSON.parse((await run(['record', 'get', 'posts', id, '--json'])).stdout).pages, 3);
  });
});
