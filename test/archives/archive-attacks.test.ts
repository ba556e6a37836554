import assert from 'node:assert/strict';
import { createWriteStream, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test, type TestContext } from 'node:test';
import { ZipFile } from 'yazl';
import { ask } from '../support/postgres.ts';
import { toTimestamp } from '../../src/base/timestamp.ts';
import { createFilled } from '../../src/instances/create-filled.ts';
import { changeRow } from '../../src/instances/instance-rows.ts';
import { sql } from '../../src/sql/sql.ts';
import { Archive } from '../../src/transfer/archive/read-archive.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type DataPlace, type Engine, makePlace, randomKey, readParts } from './archive-stage.ts';

interface Stage {
  readonly place: DataPlace;
  /** A whole archive of another service with the same master key. */
  readonly file: string;
  readonly folder: string;
}

async function open(t: TestContext, key?: string, engine: Engine = 'sqlite'): Promise<Stage> {
  const folder = temporaryFolder(t);
  const source = await makePlace(t, 'sqlite');
  await source.run('superuser', 'upsert', 'ann@example.com', 'a long password');
  const file = join(folder, 'whole.chancery');
  await source.run('export', 'default', file);
  const place = await makePlace(t, engine, key);
  await place.run('instance', 'create', 'other');
  return { place, file, folder };
}

/** Writes the parts of an archive after a change, as somebody would who does not make digests. */
async function changed(
  { file, folder }: Stage,
  change: (parts: Map<string, string>) => void,
  options: { readonly mode?: number } = {},
): Promise<string> {
  const parts = await readParts(file);
  change(parts);
  const zip = new ZipFile();
  for (const [name, content] of parts) zip.addBuffer(Buffer.from(content, 'latin1'), name, options);
  zip.end();
  const path = join(folder, 'changed.chancery');
  // The types of yazl know it as the interface of readable streams.
  await pipeline(zip.outputStream as Readable, createWriteStream(path));
  return path;
}

/** It is refused in words, and nothing of it is there. */
async function assertRefused({ place }: Stage, path: string, reason: RegExp): Promise<void> {
  const before = readdirSync(join(String(place.flags['data']), 'instances'));
  const { code, stdout, stderr } = await place.try('import', 'archive', path, '--as', 'restored');
  assert.deepEqual([code, stdout.replace(/^.*\r/s, '')], [65, '']);
  assert.match(stderr, reason);
  assert.doesNotMatch(await place.run('instance', 'list'), /restored/);
  assert.deepEqual(readdirSync(join(String(place.flags['data']), 'instances')), before);
}

const edit =
  (name: string, from: RegExp | string, to: string) =>
  (parts: Map<string, string>): void => {
    const before = parts.get(name) ?? '';
    const after = before.replace(from, to);
    assert.notEqual(after, before, name);
    parts.set(name, after);
  };

const changes: readonly (readonly [
  what: string,
  change: (parts: Map<string, string>) => void,
  reason: RegExp,
])[] = [
  [
    'an altered row',
    edit('tables/collection.ndjson', '"_superusers"', '"_superuserz"'),
    /was altered|there is no collection/,
  ],
  ['a row more', edit('tables/consumer.ndjson', /$/, '{}\n'), /other columns|was altered/],
  ['a line that is no JSON', edit('tables/secret.ndjson', '{', '['), /is no JSON/],
  ['a value of another type', edit('tables/collection.ndjson', /"system":1/, '"system":"1"'), /wrong type/],
  [
    'an altered list of parts',
    edit('parts.ndjson', /"rows":\d+/, '"rows":99'),
    /rows and not 99|was altered/,
  ],
  [
    'a part that is missing',
    (parts) => parts.delete('tables/event.ndjson'),
    /tables\/event\.ndjson is missing/,
  ],
  ['a part that is not listed', (parts) => parts.set('files/a/b/c', 'x'), /files\/a\/b\/c is not listed/],
  ['a file of another kind', (parts) => parts.set('readme.txt', 'x'), /"readme\.txt" is no part/],
  [
    'a table of the whole service',
    (parts) => {
      parts.set('tables/setting.ndjson', '');
      const sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
      const part = {
        kind: 'table',
        name: 'tables/setting.ndjson',
        table: '$setting',
        columns: [],
        rows: 0,
        last: null,
        bytes: 0,
        sha256,
      };
      parts.set('parts.ndjson', `${JSON.stringify(part)}\n${parts.get('parts.ndjson')}`);
    },
    /there is no table \$setting/,
  ],
  ['no manifest', (parts) => parts.delete('manifest.json'), /manifest\.json is missing/],
  [
    'a newer format',
    edit('manifest.json', /"format": 1/, '"format": 2'),
    /in a format that this version does not know/,
  ],
  [
    'a newer version',
    edit('manifest.json', /"layout": "[^"]+"/, '"layout": "999 more"'),
    /which is newer than this version/,
  ],
];

for (const [what, change, reason] of changes)
  test(`an archive with ${what} is refused, and leaves nothing behind`, async (t) => {
    const stage = await open(t);
    await assertRefused(stage, await changed(stage, change), reason);
  });

test('files that are no archive are refused: cut, empty, of other content, with links, or of another key', async (t) => {
  const stage = await open(t);
  const cut = join(stage.folder, 'cut.chancery');
  writeFileSync(cut, readFileSync(stage.file));
  truncateSync(cut, readFileSync(stage.file).length - 100);
  await assertRefused(stage, cut, /The archive cannot be used/);
  const other = join(stage.folder, 'other.chancery');
  for (const content of ['', 'no zip file at all', readFileSync(stage.file).subarray(200)]) {
    writeFileSync(other, content);
    await assertRefused(stage, other, /The archive cannot be used/);
  }
  await assertRefused(stage, await changed(stage, () => undefined, { mode: 0o120777 }), /is a link/);
  const foreign = await open(t, randomKey());
  await assertRefused(foreign, foreign.file, /sealed with another master key/);
});

test('names that lead out of the archive are refused', async (t) => {
  const stage = await open(t);
  const path = await changed(stage, (parts) => parts.set('files/a/bb/evil', 'x'));
  const bytes = readFileSync(path).toString('latin1').replaceAll('files/a/bb/evil', 'files/a/../evil');
  writeFileSync(path, Buffer.from(bytes, 'latin1'));
  await assertRefused(stage, path, /The archive cannot be used/);
});

test('an archive is imported once, and only over nothing', async (t) => {
  const { place, file } = await open(t);
  await place.run('import', 'archive', file, '--as', 'restored');
  const again = await place.try('import', 'archive', file, '--as', 'other-one');
  assert.equal(again.code, 65);
  assert.match(again.stderr, /is still there/);
});

test('an export does not replace a file, and leaves none where it fails', async (t) => {
  const { place, file, folder } = await open(t);
  const there = await place.try('export', 'other', file);
  assert.notEqual(there.code, 0);
  assert.match(there.stderr, /is there already/);
  const missing = await place.try('export', 'nobody', join(folder, 'nobody.chancery'));
  assert.match(missing.stderr, /There is no instance nobody/);
  assert.notEqual((await place.try('export', 'other', join(folder, 'no', 'folder.chancery'))).code, 0);
  assert.deepEqual(readdirSync(folder), ['whole.chancery']);
});

test('an archive that is larger than it says is refused', async (t) => {
  const stage = await open(t);
  const path = await changed(stage, () => undefined);
  const bytes = readFileSync(path);
  // The size that the directory at the end of the file says the first content has.
  const at = bytes.indexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
  bytes.writeUInt32LE(0xff_ff_ff_f0, at + 24);
  writeFileSync(path, bytes);
  await assertRefused(stage, path, /The archive (?:needs \d+ MiB on the disk|cannot be used)/);
});

test('nothing is left on PostgreSQL of an archive whose last part is altered', async (t) => {
  const stage = await open(t, undefined, 'postgres');
  const url = String(stage.place.flags['postgres']);
  const count = async (): Promise<unknown> =>
    ask(
      url,
      `SELECT (SELECT count(*) FROM chancery.collection) AS collections, (SELECT count(*) FROM chancery.secret) AS secrets,
        (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'i\\_%') AS schemas`,
    );
  const before = await count();
  const path = await changed(stage, edit('records/_superusers.ndjson', 'ann@', 'eve@'));
  const { code, stderr } = await stage.place.try('import', 'archive', path, '--as', 'restored');
  assert.equal(code, 65);
  assert.match(stderr, /was altered/);
  assert.deepEqual(await count(), before);
});

for (const engine of ['sqlite', 'postgres'] as const)
  test(`an import on ${engine} that was killed is removed by the next attempt, and one that runs is not`, async (t) => {
    const { place, file } = await open(t, undefined, engine);
    const { manifest } = await Archive.open(file).then((archive) => {
      archive.close();
      return archive;
    });
    const { id, created } = manifest.instance;
    const data = await place.open(t);
    const { home, directory } = data;
    const clock = { now: () => Date.now() - 60_000, monotonic: () => 0 };
    const running = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const filling = createFilled(
      { home, directory, clock },
      {
        id,
        shownId: id,
        slug: 'restored',
        key: '',
        host: null,
        created,
        populate: () => (begun.resolve(), running.promise),
        discard: () => Promise.resolve(),
      },
    );
    await begun.promise;
    assert.doesNotMatch(await place.run('instance', 'list', '--all'), /restored/);
    const beside = await place.try('import', 'archive', file, '--as', 'restored');
    assert.equal(beside.code, 65);
    assert.match(beside.stderr, /is running, or has ended a moment ago/);
    clock.now = () => Date.now() - 3_600_000;
    await home.control.write((tx) => changeRow(tx, id, () => sql`state_since = ${toTimestamp(clock.now())}`));
    assert.match(
      await place.run('import', 'archive', file, '--as', 'restored'),
      /Instance restored imported/,
    );
    running.resolve();
    await assert.rejects(filling, /Another process has taken over this import/);
    assert.match(await place.run('instance', 'list'), /restored/);
    assert.match(await place.run('export', 'restored', `${file}.again`), /1 records/);
  });
