import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { allOptions, variableOf } from '../../src/config/config-flags.ts';
import { type CommandOptions, type CommandResult, runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Listed {
  readonly name: string;
  readonly value: string | null;
  readonly source: string | null;
  readonly from: string;
}

/** Returns a folder with this chancery.toml. */
function folderWith(t: TestContext, toml: string): string {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'chancery.toml'), toml);
  return folder;
}

function list(options: CommandOptions, ...args: readonly string[]): Promise<CommandResult> {
  return runInProcess(['config', 'list', ...args], options);
}

async function listed(options: CommandOptions, ...args: readonly string[]): Promise<Map<string, Listed>> {
  const { code, stdout, stderr } = await list(options, '--json', ...args);
  assert.equal(code, 0, stderr);
  // config-command.ts writes it so.
  const items = JSON.parse(stdout) as readonly Listed[];
  return new Map(items.map((item) => [item.name, item]));
}

test('a flag beats the environment, which beats the file, which beats the default', async (t) => {
  const folder = folderWith(
    t,
    'host = "file"\nport = 1\nwebhook-days = 7\nallow-net = ["10.0.0.0/8", "172.16.0.0/12"]\ndev = true\n',
  );
  const environment = { CHANCERY_HOST: 'environment', CHANCERY_PORT: '2', CHANCERY_AUDIT_DAYS: '' };
  const options = await listed({ folder, environment }, '--host', 'flag');
  const of = (name: string): unknown => {
    const { value, source } = options.get(name) ?? {};
    return [value, source];
  };
  assert.deepEqual(of('host'), ['flag', 'flag']);
  assert.deepEqual(of('port'), ['2', 'environment']);
  assert.deepEqual(of('webhook-days'), ['7', 'file']);
  assert.deepEqual(of('audit-days'), ['90', 'default']);
  assert.deepEqual(of('allow-net'), ['10.0.0.0/8,172.16.0.0/12', 'file']);
  assert.deepEqual(of('dev'), ['true', 'file']);
  assert.deepEqual(of('tls-cert'), [null, null]);
  assert.equal(options.get('webhook-days')?.from, join(folder, 'chancery.toml'));
});

test('the file is that of --config, else of CHANCERY_CONFIG, else the one of the working directory', async (t) => {
  const folder = folderWith(t, 'port = 1');
  const [one, other] = ['one.toml', 'other.toml'].map((name) => join(folder, name));
  assert.ok(one !== undefined && other !== undefined);
  writeFileSync(one, 'port = 2');
  writeFileSync(other, 'port = 3');
  const environment = { CHANCERY_CONFIG: one };
  assert.equal((await listed({ folder })).get('port')?.value, '1');
  assert.equal((await listed({ folder, environment })).get('port')?.value, '2');
  assert.equal((await listed({ folder, environment }, '--config', other)).get('port')?.value, '3');
  const { code, stderr } = await list({ folder }, '--config', `${one}.not`);
  assert.deepEqual([code, stderr], [64, `chancery: ${one}.not cannot be read: ENOENT.\n`]);
});

test('what is wrong in the file is said in one line, with the option that was probably meant', async (t) => {
  const cases = [
    ['allow_nets = []', /there is no option "allow_nets": did you mean allow-net\?$/],
    ['[server]\nport = 1', /there is no option "server": chancery config list shows them all\.$/],
    ['port = true', /: port must be a text that is not empty, or a number\.$/],
    ['dev = "yes"', /: dev must be true or false\.$/],
    ['host = ""', /: host must be a text that is not empty, or a number\.$/],
    ['allow-net = [[]]', /: allow-net must be a list of texts\.$/],
    ['token = "secret', /chancery\.toml, line 1, column \d+: [^\n]+$/],
    ['port = 70000', /--port must be .*, not "70000" \(port in .*chancery\.toml\)\.$/],
    ['log-level = "warm"', /--log-level must be .*"warm": did you mean warn\? \(log-level in /],
  ] as const;
  for (const [toml, says] of cases) {
    const { code, stderr } = await list({ folder: folderWith(t, toml) });
    assert.equal(code, 64, toml);
    assert.match(stderr, /^chancery: [^\n]+\n$/);
    assert.match(stderr.trimEnd(), says);
    assert.ok(!stderr.includes('secret'), stderr);
  }
  const { stderr } = await list({ environment: { CHANCERY_PORT: 'x' } });
  assert.match(stderr, /\(the variable CHANCERY_PORT\)\.\n$/);
});

test('a secret may be in a file that is named by _FILE, and is never shown', async (t) => {
  const folder = temporaryFolder(t);
  const url = 'postgres://user:hunter2@127.0.0.1/db';
  writeFileSync(join(folder, 'url'), `${url}\n`);
  const environment = {
    CHANCERY_POSTGRES_FILE: join(folder, 'url'),
    CHANCERY_KEY: 'hunter2',
    CHANCERY_TOKEN: 'hunter2',
  };
  const { code, stdout, stderr } = await list({ environment });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^key\t\(hidden\)\tCHANCERY_KEY$/m);
  const shown = await list({ environment: { CHANCERY_POSTGRES: url } }, '--json');
  assert.ok(!`${stdout}${shown.stdout}`.includes('hunter2'));
  const both = await list({ environment: { ...environment, CHANCERY_POSTGRES: url } });
  assert.deepEqual(
    [both.code, both.stderr],
    [
      64,
      'chancery: --postgres and --postgres-file are the same thing: give one of them (the variable CHANCERY_POSTGRES).\n',
    ],
  );
  // The nearer source has one of them.
  assert.equal((await list({ environment }, '--postgres', url)).code, 0);
});

test('a file that only lies in the working directory cannot have a secret of the user sent to its URL', async (t) => {
  const evil = folderWith(t, 'url = "https://evil.example.com"');
  const token = { CHANCERY_TOKEN: 'secret' };
  const refused = await list({ folder: evil, environment: token });
  assert.equal(refused.code, 64);
  assert.match(refused.stderr, /^chancery: --token would be sent to the URL in .*chancery\.toml/);
  const asked = await runInProcess(['collection', 'list'], { folder: evil, environment: token });
  assert.equal(asked.code, 64);
  // A password neither: login asks for the URL as if there were none.
  const login = await runInProcess(['login', '--email', 'a@example.com'], {
    folder: evil,
    environment: { HOME: evil },
    input: 'password',
  });
  assert.deepEqual(
    [login.code, login.stderr],
    [64, 'chancery: Cannot prompt without a terminal: give --url.\n'],
  );
  const thief = folderWith(t, 'url = "https://evil.example.com"\ntoken-file = "/etc/hostname"');
  assert.match((await list({ folder: thief })).stderr, /^chancery: --token-file would be sent, and /);
  const named = { folder: evil, environment: { ...token, CHANCERY_CONFIG: join(evil, 'chancery.toml') } };
  assert.equal((await list(named)).code, 0);
  assert.equal(
    (await list({ folder: evil, environment: token }, '--url', 'https://mine.example.com')).code,
    0,
  );
});

test('the table of docs/command-line-tools.md has every option in its three spellings', () => {
  const page = readFileSync(new URL('../../docs/command-line-tools.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| ') && line.includes('CHANCERY_'));
  const named = rows.map((row) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  const expected = allOptions.map((option) => [option.name, variableOf(option.name), option.fallback ?? '']);
  assert.deepEqual(
    named.map(([, flag = '', variable, line = '', fallback]) => {
      const [name = ''] = line.split(' ');
      assert.match(flag, ['key', 'backup-s3-secret'].includes(name) ? /^$/ : new RegExp(`^--${name}(?: |$)`));
      return [name, variable, fallback];
    }),
    expected,
  );
});
