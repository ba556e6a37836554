// Both engines: what a process that is killed leaves behind is in their rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveMain } from '../support/main-process.ts';
import { verifies } from '../support/operator-webhook-stage.ts';
import { ask } from '../support/postgres.ts';
import { Receiver } from '../support/receiver.ts';
import { runInProcess } from '../support/run-in-process.ts';
import type { TestAnswer } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { databaseOf, masterKey, testEngine } from '../support/test-config.ts';

test('a server that is killed with an event of the operator on its way sends it again, and then the others', async (t) => {
  const data = temporaryFolder(t);
  await using receiver = await Receiver.open({ mode: { kind: 'never answers' } });
  const postgres = testEngine === 'postgres' ? await databaseOf(data) : undefined;
  const place = postgres === undefined ? [] : ['--postgres', postgres];
  const environment = { CHANCERY_KEY: masterKey };
  const command = async (...args: readonly string[]): Promise<string> => {
    const ended = await runInProcess([...args, '--data', data, ...place], { environment });
    assert.equal(ended.code, 0, ended.stderr);
    return ended.stdout.trim();
  };
  const first = await serveMain(t, data, { flags: place, environment });
  const secret = await command(
    'operator',
    'endpoint',
    'create',
    receiver.url,
    '--dev',
    '--events',
    'instance.*',
  );
  for (const slug of ['aa', 'bb', 'cc']) await command('instance', 'create', slug);
  await receiver.waitForRequests(1);
  first.process.kill('SIGKILL');
  await first.process.ended;
  receiver.mode = { kind: 'ok' };
  await serveMain(t, data, { flags: place, environment });
  // For a while the dead process still holds the endpoint: another node could not know that it is dead.
  if (postgres !== undefined) await ask(postgres, 'UPDATE chancery.operator_endpoint SET held_until = 0');
  const requests = await receiver.waitForRequests(4);
  const ids = requests.map(({ headers }) => headers['webhook-id']);
  assert.deepEqual([ids[0] === ids[1], new Set(ids).size], [true, 3]);
  const bodies: readonly TestAnswer['json'][] = requests.map(({ body }) => JSON.parse(body.toString()));
  assert.deepEqual(
    bodies.map(({ data: { slug } }) => slug),
    ['aa', 'aa', 'bb', 'cc'],
  );
  for (const request of requests) assert.deepEqual(verifies(request, [secret]), [true]);
});
