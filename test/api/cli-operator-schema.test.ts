// Both engines: a command takes up the job itself, beside a server or without one.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { localRun, type Run } from '../support/command-stage.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { older, SchemaStage, target } from '../support/schema-stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function writeFiles(t: TestContext): string {
  const folder = join(temporaryFolder(t), 'schema');
  mkdirSync(folder);
  for (const definition of target)
    writeFileSync(join(folder, `${definition.name}.json`), JSON.stringify(definition));
  return folder;
}

async function startStage(t: TestContext): Promise<SchemaStage> {
  const stage = await SchemaStage.open(t);
  await stage.make('old', older, { plan: 'pro' });
  await stage.make('there', target, { plan: 'pro' });
  await stage.makeConflicting('conflict', { plan: 'pro' });
  await stage.make('other', older, { plan: 'free' });
  return stage;
}

async function pushAll(t: TestContext, run: Run): Promise<void> {
  const push = ['operator', 'schema', 'push', writeFiles(t), '--instances', "labels.plan = 'pro'"];
  const dry = await run([...push, '--dry-run']);
  const lines = [
    'old\tchanged\t+tags, ~posts (+field body, +index posts_title)',
    'conflict\tfailed\tFailed to import collections. (indexes.0: The unique index posts_title of posts cannot be made: records that exist already have equal values.)',
  ];
  const counts = '1 unchanged, 1 failed, 0 skipped.\n';
  assert.deepEqual(
    [dry.code, dry.stdout],
    [1, `${lines.join('\n')}\n1 would be changed, ${counts}`],
    dry.stderr,
  );
  const pushed = await run(push);
  assert.deepEqual([pushed.code, pushed.stdout], [1, `${lines.join('\n')}\n1 changed, ${counts}`]);
  const again = await run([...push.slice(0, -1), "slug = 'old'"]);
  assert.deepEqual([again.code, again.stdout], [0, '0 changed, 1 unchanged, 0 failed, 0 skipped.\n']);
  const json = await run([...push.slice(0, -1), "slug = 'old'", '--json']);
  assert.equal(JSON.parse(json.stdout)[0].state, 'unchanged');

  const unnamed = await run(push.slice(0, -2));
  assert.deepEqual([unnamed.code, /--instances/.test(unnamed.stderr)], [64, true], unnamed.stderr);
  const unsure = await run([...push, '--delete-missing']);
  assert.deepEqual([unsure.code, /give --yes/.test(unsure.stderr)], [64, true], unsure.stderr);
  const none = await run([...push.slice(0, -1), "slug = 'none'"]);
  assert.deepEqual([none.code, /No instance is selected/.test(none.stderr)], [65, true], none.stderr);
}

test('operator schema push brings instances of a service to files, with an operator key', async (t) => {
  const stage = await startStage(t);
  const { key } = await makeOperatorKey(stage.service);
  const { url } = stage.service;
  await pushAll(t, (args, options) => runInProcess([...args, '--url', url, '--token', key], options));
  const { key: read } = await makeOperatorKey(stage.service, ['instances:read']);
  const push = ['operator', 'schema', 'push', writeFiles(t), '--instances', '', '--url', url];
  for (const token of [[], ['--token', read], ['--token', stage.service.superuser.token]])
    assert.equal((await runInProcess([...push, ...token])).code, 77, token.join(' '));
});

test('operator schema push brings instances of data of this machine to files', async (t) => {
  const stage = await startStage(t);
  await stage.service.stop();
  await pushAll(t, await localRun(stage.service.data));
});

test('operator schema push works beside a server, which serves what it has changed', async (t) => {
  const stage = await startStage(t);
  const run = await localRun(stage.service.data);
  const pushed = await run(['operator', 'schema', 'push', writeFiles(t), '--instances', "slug = 'old'"]);
  assert.equal(pushed.code, 0, pushed.stdout + pushed.stderr);
  const tags = await stage.service.request('/i/old/api/collections/tags/records');
  assert.equal(tags.status, 200, tags.text);
});
