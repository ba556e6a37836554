import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { serveMain, startMain } from '../support/main-process.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { serveInProcess } from '../support/serve-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('a file that is gone is not replaced by an empty one', () => {
  for (const how of ['missing', 'empty'] as const)
    test(`a data.db that is ${how}: its instance answers 503, the log names the file, and others are served`, async (t) => {
      const { data, files } = await dataOf(t, 'acme');
      const file = files.acme;
      const kept = `${file}.kept`;
      renameSync(file, kept);
      if (how === 'empty') writeFileSync(file, '');
      const { log, url } = await serveInProcess(t, data);
      const answer = await fetch(`${url}/i/acme/api/health`);
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '30']);
      assert.doesNotMatch(await answer.text(), /data\.db/);
      assert.equal((await fetch(`${url}/api/health`)).status, 200);
      await eventually('the log names the file', () =>
        log.some((line) => line.includes(`${file} cannot be opened`)),
      );

      const command = await runInProcess(['superuser', 'list', '--instance', 'acme', '--data', data]);
      assert.equal(command.code, 74);
      assert.equal(
        command.stderr,
        `chancery: ${file} cannot be opened: it is missing or empty, and no other is made in its place: restore it from a backup.\n`,
      );
      if (how === 'missing') assert.equal(existsSync(file), false);

      // Nothing has to be started again.
      renameSync(kept, file);
      assert.equal((await fetch(`${url}/i/acme/api/health`)).status, 200);
    });

  for (const how of ['missing', 'empty'] as const)
    test(`a control.db that is ${how} beside instances: neither server nor command starts`, async (t) => {
      const { data } = await dataOf(t, 'acme');
      const file = join(data, 'control.db');
      rmSync(file);
      if (how === 'empty') writeFileSync(file, '');
      for (const args of [
        ['serve', '--port', '0'],
        ['superuser', 'list'],
      ]) {
        const started = startMain(t, [...args, '--data', data]);
        await eventually('it ends', () => started.hasEnded || /listens on/.test(started.stdout));
        assert.ok(started.hasEnded, 'the server started');
        const { code, stdout, stderr } = await started.ended;
        assert.deepEqual([code, stdout], [74, '']);
        assert.match(
          stderr,
          /^chancery: [^\n]+control\.db cannot be opened: it is missing or empty[^\n]+\n$/,
        );
      }
      if (how === 'missing') assert.equal(existsSync(file), false);
    });
});

test('a control.db that is none is named', async (t) => {
  const data = temporaryFolder(t);
  writeFileSync(join(data, 'control.db'), 'nothing of SQLite '.repeat(100));
  const { code, stderr } = await runInProcess(['instance', 'list', '--data', data]);
  assert.equal(code, 74);
  assert.match(stderr, /^chancery: [^\n]+control\.db cannot be opened: file is not a database\.\n$/);
});

describe("L-14 a file in another's place: its instance answers 503, the log names it, and others are served", () => {
  test('when it is the file of another instance', async (t) => {
    const { data, files } = await dataOf(t, 'acme', 'other');
    // Opens both once, so that each has secrets of its own.
    for (const slug of ['acme', 'other'])
      assert.equal((await runInProcess(['superuser', 'list', '--instance', slug, '--data', data])).code, 0);
    const between = `${files.acme}.kept`;
    renameSync(files.acme, between);
    renameSync(files.other, files.acme);
    renameSync(between, files.other);
    const { log, url } = await serveInProcess(t, data);
    for (const slug of ['acme', 'other'])
      assert.equal((await fetch(`${url}/i/${slug}/api/health`)).status, 503, slug);
    assert.equal((await fetch(`${url}/api/health`)).status, 200);
    const says = `${files.acme} cannot be opened: it belongs to the instance other (${idOf(files.other)}) and not to acme`;
    await eventually('the log names both', () => log.some((line) => line.includes(says)));
    const command = await runInProcess(['superuser', 'list', '--instance', 'acme', '--data', data]);
    assert.deepEqual([command.code, command.stderr.includes(says)], [74, true], command.stderr);

    renameSync(files.acme, between);
    renameSync(files.other, files.acme);
    renameSync(between, files.other);
    assert.equal((await fetch(`${url}/i/acme/api/health`)).status, 200);
  });

  test('when it is a file of another kind, which is left as it is', async (t) => {
    const { data, files } = await dataOf(t, 'acme');
    copyFileSync(join(data, 'control.db'), files.acme);
    const { log, url } = await serveInProcess(t, data);
    assert.equal((await fetch(`${url}/i/acme/api/health`)).status, 503);
    assert.equal((await fetch(`${url}/api/health`)).status, 200);
    const says = `${files.acme} cannot be opened: This place holds other data`;
    await eventually('the log names it', () => log.some((line) => line.includes(says)));
  });
});

describe('trouble with the file of the default instance is told in one line, and others are served', () => {
  test('when it is none of SQLite', async (t) => {
    await assertOthersServed(t, 503, (file) => {
      rmSync(file);
      writeFileSync(file, 'nothing of SQLite '.repeat(1_000));
      return { says: /file is not a database/, release: () => undefined };
    });
  });

  test('when it is gone', async (t) => {
    await assertOthersServed(t, 503, (file) => {
      rmSync(file);
      return { says: /it is missing or empty/, release: () => undefined };
    });
  });

  test('when another process writes to it', async (t) => {
    await assertOthersServed(t, 200, (file) => {
      const other = new DatabaseSync(file);
      other.exec('BEGIN IMMEDIATE');
      return { says: /busy/, release: () => other.close() };
    });
  });
});

interface Trouble {
  readonly says: RegExp;
  readonly release: () => void;
}

/** Starts a server after `spoil`, which is told what to look for in its log, and stops it. `status` is the default instance's. */
async function assertOthersServed(
  t: TestContext,
  status: number,
  spoil: (file: string) => Trouble,
): Promise<void> {
  const { data, files } = await dataOf(t, 'acme');
  const { says, release } = spoil(files.default);
  const { process: server, url } = await serveMain(t, data);
  const line = await server.waitForLog(/^The instance default cannot be used: /);
  assert.match(String(line['msg']), says);
  assert.equal(line['level'], 50);
  release();
  assert.equal((await fetch(`${url}/i/acme/api/health`)).status, 200);
  assert.equal((await fetch(`${url}/api/health`)).status, status);
  server.kill('SIGTERM');
  const { code, stderr } = await server.ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
}

test('what a crash leaves of an instance that did not come to be keeps nobody from starting', async (t) => {
  const data = temporaryFolder(t);
  await runInProcess(['instance', 'create', 'other', '--data', data]);
  mkdirSync(join(data, 'instances', 'a'.repeat(15)));
  const { url } = await serveInProcess(t, data);
  assert.equal((await fetch(`${url}/api/health`)).status, 200);
  assert.equal((await runInProcess(['instance', 'create', 'acme', '--data', data])).code, 0);
});

test('an instance that is refused leaves no files', async (t) => {
  const { data } = await dataOf(t, 'acme');
  const before = readdirSync(join(data, 'instances'));
  assert.equal((await runInProcess(['instance', 'create', 'acme', '--data', data])).code, 65);
  assert.deepEqual(readdirSync(join(data, 'instances')), before);
});

/** The id of the instance in whose folder a file is. */
function idOf(file: string): string {
  return basename(dirname(file));
}

interface MadeData<Slug extends string> {
  readonly data: string;
  /** The file of each instance. */
  readonly files: Readonly<Record<Slug | 'default', string>>;
}

/** A data directory with the default instance and others. */
async function dataOf<Slug extends string>(
  t: TestContext,
  ...slugs: readonly Slug[]
): Promise<MadeData<Slug>> {
  const data = temporaryFolder(t);
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runInProcess([...args, '--data', data]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  for (const slug of slugs) await run('instance', 'create', slug);
  const rows = (await run('instance', 'list')).trimEnd().split('\n');
  const files = rows.map((row) => {
    const [id = '', name = ''] = row.split('\t');
    return [name, join(data, 'instances', id, 'data.db')];
  });
  // The two that were made, each by its name.
  return { data, files: Object.fromEntries(files) as MadeData<Slug>['files'] };
}
