import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { serveMain } from '../support/main-process.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const account = { identity: 'root@example.com', password: 'correct horse' };

test('a write-ahead log that was removed after a crash is reported once, and audited', async (t) => {
  const place = await prepare(t);
  await live(t, place, 'SIGKILL');
  rmSync(`${place.file}-wal`);
  const { losses } = await live(t, place, 'SIGTERM');
  assert.deepEqual(
    losses.map(({ level, msg }) => [level, String(msg).includes(`${place.file}-wal`)]),
    [[50, true]],
  );
  assert.deepEqual(await live(t, place, 'SIGTERM'), { losses: [], audited: 1 });
});

test('a write-ahead log that was cut after a crash is reported', async (t) => {
  const place = await prepare(t);
  await live(t, place, 'SIGKILL');
  truncateSync(`${place.file}-wal`, statSync(`${place.file}-wal`).size / 2);
  assert.equal((await live(t, place, 'SIGTERM')).losses.length, 1);
});

test('a write-ahead log of the list of instances that was removed after a crash is reported', async (t) => {
  const place = await prepare(t);
  // Until then, nothing has changed in the list.
  assert.equal((await runInProcess(['instance', 'list', '--data', place.data])).code, 0);
  const { process: server } = await serveMain(t, place.data);
  const created = await runInProcess(['instance', 'create', 'acme', '--data', place.data]);
  assert.equal(created.code, 0);
  await hasMark(join(place.data, 'control.db'));
  server.kill('SIGKILL');
  await server.ended;
  rmSync(join(place.data, 'control.db-wal'));
  const { losses } = await live(t, place, 'SIGTERM');
  assert.match(String(losses[0]?.['msg']), /control\.db/);
});

test('nothing is reported after a crash, a stop, a command, or for a file that was restored', async (t) => {
  const place = await prepare(t);
  const { data, file } = place;
  for (const end of ['SIGTERM', 'SIGKILL', 'SIGKILL'] as const)
    assert.deepEqual((await live(t, place, end)).losses, []);
  // The command is the last to close the file, which removes the log.
  const { code, stdout } = await runInProcess(['superuser', 'list', '--data', data]);
  assert.deepEqual([code, stdout, existsSync(`${file}-wal`)], [0, `${account.identity}\n`, false]);
  copyFileSync(file, `${file}.backup`);
  assert.deepEqual((await live(t, place, 'SIGKILL')).losses, []);
  rmSync(`${file}-wal`);
  copyFileSync(`${file}.backup`, file);
  assert.deepEqual(await live(t, place, 'SIGTERM'), { losses: [], audited: 0 });
});

interface Place {
  readonly data: string;
  /** Of the only instance. */
  readonly file: string;
}

async function prepare(t: TestContext): Promise<Place> {
  const data = temporaryFolder(t);
  const { identity, password } = account;
  const { code } = await runInProcess(['superuser', 'upsert', identity, password, '--data', data]);
  assert.equal(code, 0);
  const [id = ''] = readdirSync(join(data, 'instances'));
  return { data, file: join(data, 'instances', id, 'data.db') };
}

interface Life {
  /** What the start reported. */
  readonly losses: readonly Readonly<Record<string, unknown>>[];
  readonly audited: number;
}

/** Starts a server, writes something, and ends the server once the mark covers that. */
async function live(t: TestContext, { data, file }: Place, end: NodeJS.Signals): Promise<Life> {
  const { process: server, url } = await serveMain(t, data);
  assert.equal((await fetch(`${url}/api/health`)).status, 200);
  rmSync(`${file}-mark`, { force: true });
  const signedIn = await fetch(`${url}/api/collections/_superusers/auth-with-password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(account),
  });
  assert.equal(signedIn.status, 200);
  // The status says that there is one.
  const { token } = (await signedIn.json()) as { readonly token: string };
  const audit = await fetch(`${url}/api/audit?filter=(action='instance.loss')`, {
    headers: { authorization: token },
  });
  // As above.
  const { totalItems } = (await audit.json()) as { readonly totalItems: number };
  await hasMark(file);
  server.kill(end);
  await server.ended;
  const losses = server.logLines().filter(({ msg }) => String(msg).startsWith('Acknowledged changes'));
  return { losses, audited: totalItems };
}

function hasMark(file: string): Promise<boolean> {
  return eventually(`${file} has a mark`, () => statSync(`${file}-mark`).size > 0);
}
