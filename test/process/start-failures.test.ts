import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test, type TestContext } from 'node:test';
import { makeCertificate } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { serveMain, startMain, type Ended, type Environment } from '../support/main-process.ts';
import { runInProcess, type CommandResult } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('a start that cannot go well ends with one clear line and an exit code', () => {
  test('when the port is taken', async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const ended = await serve(t, temporaryFolder(t), { flags: ['--port', String(address.port)] });
    const holder = process.platform === 'linux' ? `.* \\(process ${process.pid}\\) listens there` : '';
    assertRefused(
      ended,
      new RegExp(`Cannot listen on 127\\.0\\.0\\.1:${address.port}: .*EADDRINUSE.*${holder}`),
    );
  });

  test('when the address is not one of this machine', async (t) => {
    // TEST-NET-1 (RFC 5737): nobody has it, and binding to it sends nothing.
    const ended = await serve(t, temporaryFolder(t), { flags: ['--host', '192.0.2.1'] });
    assertRefused(ended, /Cannot listen on 192\.0\.2\.1:0/);
  });

  test('when a file stands in the place of the data directory, or above it', async (t) => {
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, 'mine');
    const [asDirectory, below] = await Promise.all([serve(t, file), serve(t, join(file, 'data'))]);
    assertRefused(asDirectory, /The data directory .*file cannot be written/);
    assertRefused(below, /The data directory .*data cannot be written/);
    assert.equal(readFileSync(file, 'utf8'), 'mine');
  });

  test('when the data directory may not be written', async (t) => {
    if (process.getuid?.() === 0) return t.skip('root may write anywhere');
    const data = temporaryFolder(t);
    chmodSync(data, 0o500);
    assertRefused(await serve(t, data), /The data directory .* cannot be written/);
  });

  test('when the folder of the instances is a file', async (t) => {
    const data = temporaryFolder(t);
    writeFileSync(join(data, 'instances'), '');
    const [server, command] = await Promise.all([
      serve(t, data),
      runInProcess(['superuser', 'list', '--data', data]),
    ]);
    assertRefused(server, /The data directory .* cannot be written/);
    assertRefused(command, /The data directory .* cannot be written/);
  });

  test('when the data is of a newer version that does not admit this one, and nothing is changed', async (t) => {
    const data = await sealedData(t);
    const file = join(data, 'control.db');
    applyLater(file, { isAdmitting: true });
    assert.equal((await listSuperusers(data)).stdout, 'root@example.com\n');
    applyLater(file, { isAdmitting: false });
    const before = readFileSync(file);
    assertRefused(await serve(t, data), /written by a newer version of Chancery/, 74);
    assertRefused(await listSuperusers(data), /written by a newer version of Chancery/, 74);
    assert.deepEqual(readFileSync(file), before);
  });

  test('when another server runs on the directory, which goes on undisturbed', async (t) => {
    const data = temporaryFolder(t);
    const first = await serveMain(t, data);
    assertRefused(await serve(t, data), /Another server or a move is running on the data directory/);
    assert.equal((await fetch(`${first.url}/api/health`)).status, 200);
    // The lock is the process's own: kill -9 leaves none behind.
    first.process.kill('SIGKILL');
    await first.process.ended;
    const second = await serveMain(t, data);
    assert.equal((await fetch(`${second.url}/api/health`)).status, 200);
  });

  test('when the directory cannot be locked, and nobody is blamed for it', async (t) => {
    const data = temporaryFolder(t);
    writeFileSync(join(data, 'server.lock'), 'nothing of SQLite '.repeat(100));
    assertRefused(await serve(t, data), /server\.lock cannot be locked: file is not a database/);
  });

  test('when the data directory lies where the system makes none', async (t) => {
    if (!existsSync('/proc/self')) return t.skip('there is no /proc here');
    const [server, command] = await Promise.all([
      serve(t, '/proc/no-such/data'),
      runInProcess(['superuser', 'upsert', 'root@example.com', 'correct horse', '--data', '/proc/no-such']),
    ]);
    assertRefused(server, /The data directory \/proc\/no-such\/data cannot be written: ENOENT/);
    assertRefused(command, /The data directory \/proc\/no-such cannot be written: ENOENT/);
  });

  test('when a file of the certificate is not there, by the name of its flag', async (t) => {
    const folder = temporaryFolder(t);
    const certificate = join(folder, 'one.crt');
    writeFileSync(certificate, makeCertificate({ names: ['localhost'] }).cert);
    const data = join(folder, 'data');
    const ended = (cert: string): Promise<Ended> =>
      serve(t, data, { flags: ['--tls-cert', cert, '--tls-key', 'no-such.key'] });
    assertRefused(await ended('no-such.crt'), /^chancery: --tls-cert: ENOENT: .*no-such\.crt/);
    assertRefused(await ended(certificate), /^chancery: --tls-key: ENOENT: .*no-such\.key/);
  });

  test('when the certificate is of another key, or is none, and nothing is made', async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'data');
    const written = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const [one, other] = [
      makeCertificate({ names: ['localhost'] }),
      makeCertificate({ names: ['localhost'] }),
    ];
    const certificate = written('one.crt', one.cert);
    for (const [cert, key] of [
      [certificate, written('other.key', other.key)],
      [written('none.crt', 'none'), written('one.key', one.key)],
    ] as const) {
      const flags = ['--tls-cert', cert, '--tls-key', key];
      assertRefused(
        await serve(t, data, { flags }),
        /^chancery: --tls-cert and --tls-key: \S+\.crt and \S+\.key are no certificate and its key: /,
      );
    }
    assert.ok(!existsSync(data));
  });
});

describe('the master key', () => {
  test('that is lost is not replaced by a new one, for server and commands alike', async (t) => {
    const data = await sealedData(t);
    const file = join(data, 'master.key');
    const key = readFileSync(file);
    rmSync(file);
    assertRefused(await serve(t, data), /master\.key is missing, but there is data that was sealed with it/);
    assertRefused(await listSuperusers(data), /master\.key is missing/);

    writeFileSync(file, key, { mode: 0o600 });
    assert.equal((await listSuperusers(data)).stdout, 'root@example.com\n');
  });

  test('that is another one is refused, from the environment or from a file, and nothing is changed', async (t) => {
    const data = await sealedData(t);
    const other = randomBytes(32).toString('hex');
    const file = join(temporaryFolder(t), 'other.key');
    writeFileSync(file, other, { mode: 0o600 });
    for (const options of [{ environment: { CHANCERY_KEY: other } }, { flags: ['--key-file', file] }]) {
      assertRefused(await serve(t, data, options), /not the one this data was sealed with/);
    }
    assert.equal((await listSuperusers(data)).stdout, 'root@example.com\n');
  });

  test('may be given as text instead of the file', async (t) => {
    const data = await sealedData(t);
    const key = readFileSync(join(data, 'master.key'), 'utf8').trim();
    rmSync(join(data, 'master.key'));
    const environment = { CHANCERY_KEY: key };
    assert.equal((await listSuperusers(data, environment)).stdout, 'root@example.com\n');
    const { url } = await serveMain(t, data, { environment });
    assert.equal((await fetch(`${url}/api/health`)).status, 200);
  });

  test('that is malformed, given twice, missing or open to others is refused', async (t) => {
    const open = join(temporaryFolder(t), 'open.key');
    writeFileSync(open, randomBytes(32).toString('hex'));
    chmodSync(open, 0o644);
    const key = { CHANCERY_KEY: randomBytes(32).toString('hex') };
    const cases = [
      { environment: { CHANCERY_KEY: 'secret' }, says: /is not 32 bytes in hex, base64 or base64url/ },
      { environment: { CHANCERY_KEY: 'a'.repeat(64) }, says: /is not random/ },
      { environment: key, flags: ['--key-file', open], says: /Both a master key and a master key file/ },
      { flags: ['--key-file', `${open}.not`], says: /open\.key\.not does not exist/ },
      { flags: ['--key-file', open], says: /may be read by others than its owner. Run: chmod 600/ },
    ];
    const data = temporaryFolder(t);
    const ended = await Promise.all(
      cases.map((options, index) => {
        const own = join(data, String(index));
        mkdirSync(own);
        return serve(t, own, options);
      }),
    );
    for (const [index, { says }] of cases.entries()) assertRefused(ended[index]!, says);
  });
});

/** A data directory with a superuser, so that there is something to lose. */
async function sealedData(t: TestContext): Promise<string> {
  const data = temporaryFolder(t);
  const made = await runInProcess([
    'superuser',
    'upsert',
    'root@example.com',
    'correct horse',
    '--data',
    data,
  ]);
  assert.equal(made.code, 0, made.stderr);
  return data;
}

/** What a newer version would leave: a step that needs no more than this version knows, or that needs to be known itself. */
function applyLater(file: string, { isAdmitting }: { readonly isAdmitting: boolean }): void {
  const database = new DatabaseSync(file);
  const place = isAdmitting ? 'count(*)' : 'count(*) + 1';
  database.exec(`INSERT INTO "$migration" SELECT count(*) + 1, 'later', ${place} FROM "$migration"`);
  database.close();
}

/** How a start ended that must not go well. */
async function serve(
  t: TestContext,
  data: string,
  { flags = [], environment = {} }: { flags?: readonly string[]; environment?: Environment } = {},
): Promise<Ended> {
  const started = startMain(t, ['serve', '--data', data, '--port', '0', ...flags], environment);
  await eventually('it ends', () => started.hasEnded || /listens on/.test(started.stdout));
  assert.ok(started.hasEnded, 'the server started');
  return started.ended;
}

function listSuperusers(data: string, environment: Environment = {}): Promise<CommandResult> {
  return runInProcess(['superuser', 'list', '--data', data], { environment });
}

function assertRefused({ code, stdout, stderr }: CommandResult, says: RegExp, expected = 69): void {
  assert.match(stderr, /^chancery: [^\n]+\n$/);
  assert.match(stderr, says);
  assert.equal(code, expected);
  assert.equal(stdout, '');
}
