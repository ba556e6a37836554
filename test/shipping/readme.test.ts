import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { after, test, type TestContext } from 'node:test';
import { makeKit } from '../../tools/build/make-kit.ts';
import { makePackage } from '../../tools/build/make-package.ts';
import { root } from '../../tools/build/root.ts';
import { run } from '../../tools/build/run.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { openTestPostgres } from '../support/postgres.ts';
import { isSample } from '../support/sample.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const hasScript = spawnSync('script', ['--version']).status === 0;
const skip = hasScript ? false : 'script(1), which gives commands a terminal, is not installed';

/** A block of README.md that somebody types, or a file that it shows. */
type Block =
  | { readonly kind: 'file'; readonly name: string; readonly text: string }
  | { readonly kind: 'console'; readonly commands: readonly TypedCommand[] };

interface TypedCommand {
  readonly line: string;
  /** What README.md shows under it. */
  readonly output: readonly string[];
}

test('README.md is at most 8 KB', () => {
  assert.ok(readFileSync(join(root, 'README.md')).length <= 8 * 1024);
});

/** A page that somebody types, where, and how many commands it has at least. */
const typed = [
  ['README.md', 'an empty folder with the packages', 13],
  ['README.md', 'a fresh clone', 13],
  ['docs/mirrors.md', 'an empty folder with the packages', 11],
] as const;

for (const [page, place, count] of typed)
  test(
    `whoever types ${page} in ${place} gets what it shows, up to its last webhook`,
    { skip },
    async (t) => {
      const terminal = await openTerminal(t, place);
      if (terminal === undefined)
        return t.skip('not run: npm has not kept the packages that it has installed');
      const blocks = readBlocks(readFileSync(join(root, page), 'utf8'));
      const commands = blocks.flatMap((block) => (block.kind === 'console' ? block.commands : []));
      assert.ok(commands.length >= count, `${page} has its commands in blocks of the kind console`);
      const startMs = performance.now();
      await typeAll(terminal, blocks);
      t.diagnostic(`all of ${page}: ${Math.round((performance.now() - startMs) / 1_000)} s`);
    },
  );

async function typeAll(terminal: Terminal, blocks: readonly Block[]): Promise<void> {
  let pending: Running[] = [];
  for (const block of blocks) {
    if (block.kind === 'file') {
      writeFileSync(join(terminal.folder, block.name), terminal.local(block.text));
      continue;
    }
    for (const command of block.commands) {
      // Done before: by the packages, or without what asks a registry.
      if (command.line === 'npm ci' || command.line === 'npm install pg') continue;
      if (command.line.startsWith('npx chancery move')) pending = await endAll(pending);
      if (command.line.endsWith('node mirror-postgres.mjs'))
        pending = [...pending.slice(0, 1), ...(await endAll(pending.slice(1)))];
      if (command.line === 'node read.mjs') {
        await eventually('the copy is as the page shows it', async () => {
          assertShows(command, await terminal.type(command.line).ended);
          return true;
        });
        continue;
      }
      const running = terminal.type(command.line);
      // The receiver shows its line only once something is sent to it, by a command further down.
      if (isServer(command.line)) await waitUntilItListens(terminal, command, running);
      else assertShows(command, await running.ended);
      if (isServer(command.line)) pending.push({ ...running, command });
    }
  }
  await endAll(pending);
}

/** Ends what still runs, as Ctrl-C does, once all of it has shown what the page shows. */
async function endAll(pending: readonly Running[]): Promise<Running[]> {
  for (const { command, shown } of pending)
    if (command !== undefined && command.output.length > 0)
      await eventually(`${command.line} shows its output`, () => {
        assertShows(command, shown());
        return true;
      });
  for (const { end } of pending) await end();
  return [];
}

/** Commands that go on until somebody ends them. */
function isServer(line: string): boolean {
  return line.startsWith('npx chancery --') || /\bnode (?:receiver|mirror|mirror-postgres)\.mjs$/.test(line);
}

async function waitUntilItListens(
  terminal: Terminal,
  command: TypedCommand,
  running: Running,
): Promise<void> {
  if (command.line.startsWith('npx'))
    return void (await eventually('the server is ready', () => running.shown().includes('Ready in')));
  await eventually('the receiver listens', async () => {
    const answer = await fetch(terminal.local('http://127.0.0.1:3000/hook'), { method: 'POST', body: '{}' });
    return answer.status === 400;
  });
}

function readBlocks(page: string): readonly Block[] {
  const fences = [...page.matchAll(/^```(console|js)\n(.*?)^```$/gms)];
  return fences.flatMap(([, kind, text = '']): readonly Block[] => {
    if (kind === 'console') return [{ kind, commands: readCommands(text) }];
    const name = /^\/\/ (\S+\.mjs)\n/.exec(text)?.[1];
    return name === undefined ? [] : [{ kind: 'file', name, text }];
  });
}

function readCommands(text: string): readonly TypedCommand[] {
  const [before, ...parts] = text.split(/^\$ /m);
  assert.equal(before, '', 'a console block begins with a command');
  return parts.map((part) => {
    const [line = '', ...output] = part.trimEnd().split('\n');
    return { line, output };
  });
}

function assertShows({ line, output }: TypedCommand, shown: string): void {
  // What shows progress replaces its own line.
  const settled = shown.split('\n').map((text) => text.split('\r\u001B[K').at(-1) ?? '');
  const text = stripVTControlCharacters(settled.join('\n')).replaceAll('\r', '').trimEnd();
  // A checkout builds the dashboard at its first start.
  const lines = text === '' ? [] : text.split('\n').filter((line) => !line.startsWith('Built the dashboard'));
  assert.deepEqual(lines.map(withoutDetails), output.map(withoutDetails), line);
}

/** Takes out of a line what is another each time: ids, tokens, passwords, ports and times. */
function withoutDetails(line: string): string {
  return line
    .replaceAll(/token=\S+/g, 'token=TOKEN')
    .replaceAll(/\/setup#\S+/g, '/setup#TOKEN')
    .replaceAll(/v1\.[\w-]+\.[\w-]+/g, 'CATCHER')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/(@example\.com {2})[a-z0-9]{16}$/g, '$1PASSWORD')
    .replaceAll(/\b[a-z0-9]{20}\b/g, 'EVENT')
    .replaceAll(/\bwith the id [a-z0-9]{15}\b/g, 'with the id ID')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/\d+ ms/g, 'N ms')
    .replaceAll(/Chancery \d+\.\d+\.\d+/g, 'Chancery VERSION')
    .trimEnd();
}

interface Running {
  readonly command?: TypedCommand;
  readonly end: () => Promise<void>;
  /** All that it has shown so far. */
  readonly shown: () => string;
  /** Resolves to all that it has shown, when it has ended. */
  readonly ended: Promise<string>;
}

interface Terminal {
  readonly folder: string;
  /** Replaces the ports and the database that README.md uses by free ones. */
  readonly local: (text: string) => string;
  readonly type: (line: string) => Running;
}

/** Opens terminals in a fresh clone, or in an empty folder in which the packages are installed and nothing of the repository. */
async function openTerminal(
  t: TestContext,
  place: 'an empty folder with the packages' | 'a fresh clone',
): Promise<Terminal | undefined> {
  const folder = temporaryFolder(t);
  if (place === 'a fresh clone') {
    if (!cloneAndInstall(folder)) return undefined;
  } else {
    await installPackages(folder);
    // What `npm install pg` brings.
    symlinkSync(join(root, 'node_modules/pg'), join(folder, 'node_modules/pg'));
  }
  const postgres = await openTestPostgres();
  const database = await postgres.createDatabase();
  t.after(() => postgres.dropDatabase(database));
  const [port, receiverPort] = [await freePort(), await freePort()];
  const local = (text: string): string =>
    text
      .replaceAll(':8090', `:${port}`)
      .replaceAll(/(?<=listen\(|:)3000/g, String(receiverPort))
      .replaceAll('postgres://chancery@db/chancery', `'${database}'`);
  const env = {
    PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    HOME: folder,
    SHELL: '/bin/sh',
    CHANCERY_PORT: String(port),
    NO_COLOR: '1',
    TERM: 'dumb',
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  };
  const type = (line: string): Running => {
    const child = spawn('script', ['-qefc', `stty cols 160 -echo; ${local(line)}`, '/dev/null'], {
      cwd: folder,
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => endIt(child));
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
    const ended = once(child, 'close').then(() => text);
    return { shown: () => text, ended, end: () => endIt(child) };
  };
  return { folder, local, type };
}

/**
 * Makes what a clone of the repository would be after `npm ci`, if all that is here were committed. Returns false where npm would have to
 * ask a registry.
 */
function cloneAndInstall(folder: string): boolean {
  const paths = run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const path of paths.split('\0'))
    if (path !== '' && existsSync(join(root, path))) cpSync(join(root, path), join(folder, path));
  if (isSample) {
    linkPackages(join(folder, 'node_modules'));
    return true;
  }
  const install = spawnSync('npm', ['ci', '--offline', '--ignore-scripts'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (install.stderr.includes('ENOTCACHED')) return false;
  assert.equal(install.status, 0, install.stderr);
  return true;
}

/** Links the packages of this checkout, which takes a hundredth of the time of `npm ci`. Those of the repository itself are those of the clone. */
function linkPackages(folder: string): void {
  const from = join(root, 'node_modules');
  mkdirSync(folder);
  for (const name of readdirSync(from)) {
    if (['.cache', '@chancery'].includes(name)) continue;
    symlinkSync(join(from, name), join(folder, name));
  }
  cpSync(join(from, '@chancery'), join(folder, '@chancery'), { recursive: true, verbatimSymlinks: true });
}

const packages = mkdtempSync(join(tmpdir(), 'chancery-readme-'));
after(() => rmSync(packages, { recursive: true, force: true }));
/** The archives of both packages, which are made once. */
let archives: Promise<readonly string[]> | undefined;

async function packAll(): Promise<readonly string[]> {
  const { archive } = await makePackage(packages);
  return [archive, makeKit(packages).archive];
}

async function installPackages(folder: string): Promise<void> {
  archives ??= packAll();
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier'];
  run('npm', ['install', '--ignore-scripts', '--offline', ...quiet, ...(await archives)], { cwd: folder });
  // What the programs of the page import besides, as if it were installed too.
  for (const name of ['express', 'pocketbase'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
}

/** Ends a command as Ctrl-C does. */
async function endIt(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.stdin?.write('\u0003');
  await exit;
}
