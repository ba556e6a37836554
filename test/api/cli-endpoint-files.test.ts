import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { describePlaces } from '../support/command-stage.ts';
import { listOf } from '../support/webhook-service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const url = 'http://127.0.0.1:9/';

describePlaces('endpoint export and apply', (start) => {
  test('what is exported is applied again without a change, and holds no secret', async (t) => {
    const { run } = await start(t);
    const create = ['endpoint', 'create', url, '--dev', '--json'];
    await run([
      ...create,
      '--name',
      'shop',
      '--header',
      'Authorization: Bearer f00d',
      '--max-age-seconds',
      '60',
    ]);
    await run([...create, '--name', 'mail', '--paused', '--order', 'strict']);
    assert.equal((await run([...create])).code, 0);
    const written = await run(['endpoint', 'export']);
    assert.equal(written.stderr, 'chancery: 1 endpoint without a name is left out.\n');
    const endpoints = listOf(JSON.parse(written.stdout).endpoints);
    assert.deepEqual(
      endpoints.map(({ name, status, id, created }) => [name, status, id, created]),
      [
        ['mail', 'paused', undefined, undefined],
        ['shop', undefined, undefined, undefined],
      ],
    );
    assert.ok(!/whsec_|f00d/.test(written.stdout));
    assert.deepEqual(endpoints[1].headers, { authorization: '********' });
    const file = join(temporaryFolder(t), 'endpoints.json');
    assert.equal((await run(['endpoint', 'export', '--file', file])).stdout, `2 endpoints in ${file}.\n`);
    assert.equal(readFileSync(file, 'utf8'), written.stdout);
    const again = await run(['endpoint', 'apply', file, '--dev', '--delete-missing']);
    assert.deepEqual([again.code, again.stdout, again.stderr], [0, 'Nothing to change.\n', '']);
    const json = await run(['endpoint', 'apply', '-', '--dev', '--json'], { input: written.stdout });
    const { applied, unchanged } = JSON.parse(json.stdout);
    assert.deepEqual([applied, unchanged.length], [false, 2]);
  });

  test('the plan is shown first, what is deleted is confirmed, and secrets of new endpoints are shown once', async (t) => {
    const { run } = await start(t);
    const create = ['endpoint', 'create', url, '--dev', '--json', '--name'];
    await run([...create, 'shop', '--description', 'Berlin', '--max-in-flight', '2']);
    await run([...create, 'old']);
    const file = join(temporaryFolder(t), 'endpoints.json');
    const definitions = [
      { name: 'shop', url: `${url}new`, maxInFlight: 3 },
      { name: 'mail', url },
    ];
    writeFileSync(file, JSON.stringify({ endpoints: definitions }));
    const apply = ['endpoint', 'apply', file, '--dev'];
    const plan = [
      '+ mail',
      '~ shop',
      `  ~ url: "${url}" → "${url}new"`,
      '  - description: "Berlin"',
      '  ~ maxInFlight: 2 → 3',
    ];
    const dry = await run([...apply, '--dry-run', '--delete-missing']);
    assert.deepEqual(
      [dry.code, dry.stdout],
      [0, [...plan, '- old', '3 endpoints would change.\n'].join('\n')],
    );
    const unsure = await run([...apply, '--delete-missing']);
    assert.equal(unsure.code, 64);
    assert.match(unsure.stderr, /This deletes the endpoint old with what waits for it\. .* give --yes/);
    const untouched = await run([...apply, '--dry-run', '--json']);
    assert.deepEqual(JSON.parse(untouched.stdout).deleted, []);
    const done = await run([...apply, '--delete-missing', '--yes']);
    assert.match(done.stdout, /\n- old\n3 endpoints changed\.\nsecret of mail\twhsec_\S+\n$/);
    assert.equal((await run(apply)).stdout, 'Nothing to change.\n');
  });

  test('a file that is none, and definitions that are refused, are said in a line', async (t) => {
    const { run } = await start(t);
    const apply = ['endpoint', 'apply', '-', '--dev'];
    for (const input of ['', '[]', '{"endpoints": 1}']) {
      const refused = await run(apply, { input });
      assert.deepEqual(
        [refused.code, refused.stderr],
        [65, 'chancery: - is not JSON with endpoints: chancery endpoint export writes it.\n'],
      );
    }
    const input = JSON.stringify({
      endpoints: [
        { name: 'shop', url },
        { name: 'mail', url: 'nowhere' },
      ],
    });
    const wrong = await run(apply, { input });
    assert.equal(wrong.code, 65);
    assert.match(wrong.stderr, /^chancery: Failed to import endpoints\. \(endpoints\.1\.url: /);
  });
});
