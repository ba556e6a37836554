import assert from 'node:assert/strict';
import { spawnSync, type StdioOptions } from 'node:child_process';
import { closeSync, createWriteStream, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { main, runMain, startMain } from '../support/main-process.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('--help names every command and the settings of each with their variables', async () => {
  const [all, serve, upsert] = await Promise.all([
    runInProcess(['--help']),
    runInProcess(['serve', '--help']),
    runInProcess(['superuser', 'upsert', '--help']),
  ]);
  assert.deepEqual([all.code, serve.code, upsert.code], [0, 0, 0]);
  for (const command of ['serve', 'superuser', 'instance']) assert.match(all.stdout, new RegExp(command));
  for (const flag of ['--data', '--port', '--dev', '--tls-cert', '--stop-timeout']) {
    assert.ok(serve.stdout.includes(flag), `${flag} is missing from:\n${serve.stdout}`);
  }
  assert.match(serve.stdout.replaceAll(/\s+/g, ' '), /env: CHANCERY_PORT, default: 8090/);
  assert.match(upsert.stdout, /<email> \[password\]/);
  assert.match(upsert.stdout, /--instance/);
});

test('--help leaves out the options that many commands share, and --help-all shows them', async () => {
  const list = ['record', 'list'];
  const [help, all, asked] = await Promise.all([
    runInProcess([...list, '--help']),
    // Also where an argument is missing, or there.
    runInProcess([...list, '--help-all']),
    runInProcess([...list, 'posts', '--help-all']),
  ]);
  assert.deepEqual([help.code, all.code, asked.stdout], [0, 0, all.stdout]);
  assert.equal(help.stdout.includes('--filter'), true);
  assert.equal(help.stdout.includes('--postgres'), false, help.stdout);
  for (const flag of ['--filter', '--url', '--postgres']) assert.ok(all.stdout.includes(flag), all.stdout);
  const { stdout, code } = await runInProcess(['--help-all']);
  assert.equal(code, 0);
  for (const usage of ['chancery record list <collection>', 'chancery operator key create <name>'])
    assert.ok(stdout.includes(usage), stdout);
});

test('help of a command below another is that of the command itself', async () => {
  const [helped, asked] = await Promise.all([
    runInProcess(['help', 'record', 'list']),
    runInProcess(['record', 'list', '--help']),
  ]);
  assert.deepEqual([helped.code, helped.stdout], [0, asked.stdout]);
});

test('--version prints the version alone', async (t) => {
  const { code, stdout } = await runMain(t, ['--version']);
  assert.deepEqual({ code, stdout }, { code: 0, stdout: `${packageJson.version}\n` });
});

test('version says what this is made of, in lines or as JSON', async () => {
  const [lines, json] = await Promise.all([runInProcess(['version']), runInProcess(['version', '--json'])]);
  assert.deepEqual([lines.code, json.code], [0, 0]);
  const { node, sqlite = '' } = process.versions;
  assert.deepEqual(JSON.parse(json.stdout), { version: packageJson.version, commit: null, node, sqlite });
  assert.equal(
    lines.stdout,
    `Chancery ${packageJson.version}\ncommit unknown: Node runs the sources\nNode ${node}\nSQLite ${sqlite}\n`,
  );
});

test('without a command it is the server that is run, with the flags of that', async (t) => {
  const server = startMain(t, ['--port', '0', '--data', temporaryFolder(t)]);
  const { url } = await server.waitForLog(/listens on/);
  assert.equal((await fetch(`${String(url)}/api/health`)).status, 200);
  server.kill('SIGTERM');
  assert.equal((await server.ended).code, 0);
  const wrong = await runInProcess(['--prot', '1']);
  assert.deepEqual(
    [wrong.code, wrong.stderr],
    [64, "chancery: unknown option '--prot' (Did you mean --port?)\n"],
  );
  const help = await runInProcess(['--help']);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^Usage: chancery/);
});

test('an unknown flag, command or value is refused with a suggestion', async () => {
  const [flag, command] = await Promise.all([runInProcess(['serve', '--prot', '1']), runInProcess(['srve'])]);
  assert.equal(flag.code, 64);
  assert.equal(flag.stderr, "chancery: unknown option '--prot' (Did you mean --port?)\n");
  assert.equal(command.code, 64);
  assert.equal(command.stderr, "chancery: unknown command 'srve' (Did you mean serve?)\n");
  const value = await runInProcess(['record', 'export', 'posts', '--format', 'jsno']);
  assert.equal(value.code, 64);
  assert.match(value.stderr, /Allowed choices are csv, json, ndjson\. \(Did you mean json\?\)\n$/);
});

test('help for a command that does not exist is refused like the command itself', async () => {
  const helps = [
    ['wares', '--help'],
    ['help', 'wares'],
    ['superuser', 'wares', '--help'],
    ['superuser', 'help', 'wares'],
  ];
  const ended = await Promise.all(helps.map((args) => runInProcess(args)));
  for (const [index, { code, stdout, stderr }] of ended.entries())
    assert.deepEqual([code, stdout, stderr], [64, '', "chancery: unknown command 'wares'\n"], String(index));
  const known = await runInProcess(['help', 'superuser', 'upsert']);
  assert.deepEqual([known.code, known.stderr], [0, '']);
});

test('a setting that is wrong is named in one line, from a flag or from the environment', async (t) => {
  const data = temporaryFolder(t);
  const serve = ['serve', '--data', data];
  const cases = [
    { args: [...serve, '--port', '70000'], says: /--port .*65535/ },
    { args: [...serve, '--port', '-1'], says: /--port / },
    { args: serve, environment: { CHANCERY_PORT: 'http' }, says: /--port .*"http"/ },
    { args: serve, environment: { CHANCERY_DEV: 'yes' }, says: /--dev .*"yes"/ },
    { args: [...serve, '--log-level', 'loud'], says: /--log-level .*"loud"/ },
    { args: [...serve, '--allow-net', '10.0.0.0/99'], says: /--allow-net/ },
    { args: [...serve, '--allow-ports', '9200,0'], says: /--allow-ports .*65535, not "0"/ },
    { args: serve, environment: { CHANCERY_ALLOW_PORTS: 'smtp' }, says: /--allow-ports .*"smtp"/ },
    { args: [...serve, '--tls-cert', 'a.pem'], says: /--tls-cert and --tls-key/ },
    { args: [...serve, '--stop-timeout', '1.5'], says: /--stop-timeout/ },
    { args: [...serve, '--query-timeout', '0'], says: /--query-timeout takes seconds, up to 60/ },
    {
      args: [...serve, '--disk-reserve', '5 GB'],
      says: /--disk-reserve is a size as 10GiB, or a part of the disk as 5%, not "5 GB"/,
    },
    { args: [...serve, '--disk-reserve', '100%'], says: /--disk-reserve is a size/ },
    { args: [...serve, '--webhook-bytes', 'much'], says: /--webhook-bytes is a size as 10GiB/ },
    // What is left of a variable that is not set; listening on every address is for those who say so.
    { args: [...serve, '--host', ''], says: /--host is empty/ },
    { args: ['serve', '--data', ''], says: /--data is empty/ },
  ];
  const ended = await Promise.all(
    cases.map(({ args, environment = {} }) => runInProcess(args, { environment })),
  );
  for (const [index, { says }] of cases.entries()) {
    const { code, stdout, stderr } = ended[index]!;
    assert.equal(code, 64);
    assert.match(stderr, /^chancery: [^\n]+\n$/);
    assert.match(stderr, says);
    assert.equal(stdout, '');
  }
});

test('a command that cannot write what it has to say fails with one line', async (t) => {
  if (!existsSync('/dev/full')) return t.skip('there is no file here that is always full');
  const data = temporaryFolder(t);
  await runInProcess(['superuser', 'upsert', 'ann@example.com', 'a password', '--data', data]);
  const says = /^chancery: The output cannot be written: ENOSPC[^\n]+\n$/;
  for (const args of [
    ['superuser', 'upsert', 'bob@example.com', 'a password'],
    ['instance', 'list'],
    ['instance', 'create', 'acme'],
  ]) {
    const stdout = createWriteStream('/dev/full');
    const { code, stderr } = await runInProcess([...args, '--data', data], { stdout });
    assert.equal(code, 74);
    assert.match(stderr, says);
  }
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const stdio = ['ignore', full, 'pipe'] satisfies StdioOptions;
  const list = [main, 'superuser', 'list', '--data', data];
  const { status, stderr } = spawnSync(process.execPath, list, { stdio });
  assert.equal(status, 74);
  assert.match(String(stderr), says);
});

test('a command whose reader is gone has done what it was asked for', async (t) => {
  const data = temporaryFolder(t);
  const child = startMain(t, ['superuser', 'upsert', 'ann@example.com', 'a password', '--data', data]);
  child.closeLog();
  const { code, stderr } = await child.ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
});

test('a variable of the environment counts, and a flag beats it', async (t) => {
  // A port that is in use shows which of the two was taken, without a free port being guessed.
  const taken = await takePort(t);
  const environment = { CHANCERY_PORT: String(taken), CHANCERY_DATA: temporaryFolder(t) };
  const byVariable = await runMain(t, ['serve'], environment);
  assert.equal(byVariable.code, 69);
  assert.match(byVariable.stderr, new RegExp(`Cannot listen on 127\\.0\\.0\\.1:${taken}`));

  const byFlag = startMain(t, ['serve', '--port', '0'], environment);
  const { url } = await byFlag.waitForLog(/listens on/);
  assert.notEqual(new URL(String(url)).port, String(taken));
  assert.equal((await fetch(`${String(url)}/api/health`)).status, 200);
});

test('an empty variable is an unset one', async (t) => {
  const data = temporaryFolder(t);
  const empty = { CHANCERY_KEY: '', CHANCERY_KEY_FILE: '', CHANCERY_LOG_LEVEL: '', CHANCERY_DEV: '' };
  const { code, stderr } = await runInProcess(['instance', 'create', 'acme', '--data', data], {
    environment: empty,
  });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
});

test('a command that makes nothing makes no data directory either, and says that there is none', async (t) => {
  const missing = join(temporaryFolder(t), 'mistyped');
  const other = temporaryFolder(t);
  writeFileSync(join(other, 'letter.txt'), 'mine');
  const commands = [
    ['superuser', 'list'],
    ['superuser', 'delete', 'a@example.com'],
    ['instance', 'list'],
    ['record', 'list', 'posts'],
  ];
  for (const command of commands)
    for (const data of [missing, other]) {
      const { code, stdout, stderr } = await runInProcess([...command, '--data', data]);
      assert.deepEqual(
        { code, stdout, stderr },
        { code: 69, stdout: '', stderr: `chancery: There is no data directory ${data}.\n` },
      );
    }
  const nodes = await runInProcess(['nodes', '--data', missing]);
  assert.deepEqual([nodes.code, /only with --postgres/.test(nodes.stderr)], [64, true]);
  assert.equal(existsSync(missing), false);
  assert.deepEqual(readdirSync(other), ['letter.txt']);
});

async function takePort(t: TestContext): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}
