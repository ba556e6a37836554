import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { endWith, MainProcess } from '../support/main-process.ts';
import { ask, openTestPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { testKey } from './node-group.ts';

const newer = [process.execPath, fileURLToPath(new URL('newer-version.ts', import.meta.url))];
const waits = /Waiting for nodes of an older, incompatible version/;
const listens = /^Chancery .* listens on /;

interface Place {
  readonly postgres: string;
  readonly start: (args: readonly string[], program?: readonly string[]) => MainProcess;
}

async function openPlace(t: TestContext): Promise<Place> {
  const postgres = await (await openTestPostgres()).createDatabase();
  const environment = { CHANCERY_KEY: testKey, CHANCERY_POSTGRES: postgres };
  const start: Place['start'] = (args, program) => {
    const all = [...args, '--data', temporaryFolder(t)];
    return endWith(t, new MainProcess(all, environment, program === undefined ? {} : { program }));
  };
  return { postgres, start };
}

async function listening(started: MainProcess): Promise<string> {
  return String((await started.waitForLog(listens))['url']);
}

async function get(
  url: string,
): Promise<{ readonly status: number; readonly json: { readonly data: object } }> {
  const answer = await fetch(url);
  // Every answer of the service is an object with data.
  return { status: answer.status, json: (await answer.json()) as { data: object } };
}

async function hasLaterTable(postgres: string): Promise<boolean> {
  const [row] = await ask(postgres, `SELECT to_regclass('chancery.later') IS NOT NULL AS later`);
  return row?.['later'] === true;
}

for (const end of ['SIGTERM', 'SIGKILL'] as const)
  test(`a newer node waits for an older one to end (${end}), and says so meanwhile`, async (t) => {
    const { postgres, start } = await openPlace(t);
    const older = start(['serve', '--port', '0']);
    const olderUrl = await listening(older);
    const [node] = await ask(postgres, 'SELECT id, version FROM chancery.node');

    const port = await freePort();
    const waiting = start(['serve', '--port', String(port)], newer);
    const { nodes } = await waiting.waitForLog(waits);
    assert.deepEqual(nodes, [{ id: node?.['id'], version: node?.['version'] }]);
    const url = `http://127.0.0.1:${port}`;
    const ready = await get(`${url}/api/health/ready`);
    assert.deepEqual([ready.status, ready.json.data], [503, { reason: 'upgrade' }]);
    assert.equal((await get(`${url}/api/health/live`)).status, 200);
    const other = await get(`${url}/api/collections/posts/records`);
    assert.deepEqual([other.status, other.json.data], [503, {}]);
    // The older one works as before.
    assert.equal((await get(`${olderUrl}/api/health/ready`)).status, 200);
    assert.equal((await get(`${olderUrl}/api/health`)).status, 200);
    assert.equal(await hasLaterTable(postgres), false);

    older.kill(end);
    assert.equal(await listening(waiting), url);
    assert.equal(await hasLaterTable(postgres), true);
    await eventually(
      'the newer one is ready',
      async () => (await get(`${url}/api/health/ready`)).status === 200,
    );
    const late = await start(['serve', '--port', '0']).ended;
    assert.equal(late.code, 69);
    assert.match(late.stderr, /written by a newer version/);
  });

test('a newer version that has waited long enough ends, and a command does not wait at all', async (t) => {
  const { postgres, start } = await openPlace(t);
  const older = start(['serve', '--port', '0']);
  const url = await listening(older);
  const [node] = await ask(postgres, 'SELECT id FROM chancery.node');
  for (const args of [
    ['serve', '--port', '0', '--upgrade-wait', '1'],
    ['superuser', 'list'],
  ]) {
    const { code, stderr } = await start(args, newer).ended;
    assert.equal(code, 69, stderr);
    assert.match(stderr, /^chancery: Nodes of an older version are running[^\n]+\n$/);
    assert.ok(stderr.includes(String(node?.['id'])), stderr);
  }
  assert.equal(await hasLaterTable(postgres), false);
  assert.equal((await get(`${url}/api/health/ready`)).status, 200);

  const waiting = start(['serve', '--port', '0'], newer);
  await waiting.waitForLog(waits);
  waiting.kill('SIGTERM');
  assert.equal((await waiting.ended).code, 0);
});
