import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { ZipFile } from 'yazl';
import { toTimestamp } from '../../src/base/timestamp.ts';
import { readConfig } from '../../src/config/config.ts';
import { changeRow, readRows } from '../../src/instances/instance-rows.ts';
import { openDataDirectory } from '../../src/open-data-directory.ts';
import { sql } from '../../src/sql/sql.ts';
import { type DataPlace, type Engine, makePlace, readParts } from '../archives/archive-stage.ts';
import { fillWorld } from '../archives/archive-world.ts';
import { assertSameParts, look } from '../archives/compare-instances.ts';
import { startChild } from '../support/child.ts';
import { inSample } from '../support/sample.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { DyingArchiveImport } from './dying-archive-import.ts';
import { Random } from './random.ts';

const superuser = ['ann@example.com', 'correct horse battery'] as const;
/** Of one collection, which are stored in many transactions. */
const records = 4_000;

interface Source {
  readonly folder: string;
  readonly file: string;
  /** The same instance with one record more. */
  readonly later: string;
  readonly token: string;
}

async function makeSource(t: TestContext, random: Random): Promise<Source> {
  const folder = temporaryFolder(t);
  const source = await makePlace(t, 'sqlite');
  await source.run('superuser', 'upsert', ...superuser);
  const app = await source.serve(t);
  const pb = new PocketBase(app.url);
  await pb.collection('_superusers').authWithPassword(...superuser);
  await pb.collections.create({ name: 'many', fields: [{ name: 'number', type: 'number' }] });
  await pb.settings.update({ batch: { enabled: true, maxRequests: 1_000, timeout: 10 } });
  for (let from = 0; from < records; from += 1_000) {
    const batch = pb.createBatch();
    for (let number = from; number < from + 1_000; number += 1) batch.collection('many').create({ number });
    await batch.send();
  }
  // At the end: without endpoints, records have no events.
  await fillWorld(pb, random, 'http://127.0.0.1:9/hook');
  const [file, later] = [join(folder, 'one.chancery'), join(folder, 'later.chancery')];
  await source.run('export', 'default', file);
  await pb.collection('many').create({ number: records });
  await source.run('export', 'default', later);
  return { folder, file, later, token: pb.authStore.token };
}

type Death = Pick<DyingArchiveImport, 'path' | 'as' | 'what' | 'words' | 'laterMs'>;

/** Imports an archive until the process dies, and returns whether it has ended before. What it has left is as if two minutes had passed. */
async function dieImporting(t: TestContext, place: DataPlace, death: Death): Promise<boolean> {
  const { flags, key } = place;
  const options = { flags, key, slug: 'restored', ...death } satisfies DyingArchiveImport;
  const child = await startChild(t, 'test/faults/dying-archive-import.ts', [JSON.stringify(options)]);
  await child.kill();
  if (child.line !== undefined) return true;
  assert.doesNotMatch(await place.run('instance', 'list'), /restored/);
  const data = await openDataDirectory(
    readConfig({ ...flags, 'log-level': 'error' }, { CHANCERY_KEY: key }),
    {},
  );
  const { control } = data.home;
  const since = toTimestamp(Date.now() - 3_600_000);
  for (const { id } of await readRows(control, sql`state = 'filling'`))
    await control.write((tx) => changeRow(tx, id, () => sql`state_since = ${since}`));
  await data.stop();
  return false;
}

/** Returns how many rows an import has found that an earlier one had stored; none where it began. */
function rowsThere(stdout: string): number {
  const [, rows = '0'] = /Went on with an import that was cut off: (\d+) rows/.exec(stdout) ?? [];
  return Number(rows);
}

const flagsOf = { moved: [], copy: ['--copy'], backup: ['--backup'] } as const;

async function killAgainAndAgain(t: TestContext, engine: Engine, as: keyof typeof flagsOf): Promise<void> {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  const { folder, file, token } = await makeSource(t, random);
  const [whole, killed] = [await makePlace(t, engine), await makePlace(t, engine)];
  const command = ['import', 'archive', file, '--as', 'restored', ...flagsOf[as]];
  for (const place of [whole, killed]) await place.run('instance', 'create', 'other');
  assert.equal(rowsThere(await whole.run(...command)), 0);

  let words = 0;
  for (let round = 0; round < inSample(3, 8); round += 1) {
    // Each begins where the one before has died, but for words of progress about what is stored already.
    words += random.integer(1, 8);
    const laterMs = random.pick([0, 0, 1, 3, 10]) ?? 0;
    if (await dieImporting(t, killed, { path: file, as, words, laterMs })) break;
  }
  const listed = await killed.run('instance', 'list');
  if (!listed.includes('restored')) assert.ok(rowsThere(await killed.run(...command)) > 0);

  const exports = ['whole', 'killed'].map((name) => join(folder, `${name}.chancery`));
  const [one = '', other = ''] = exports;
  await whole.run('export', 'restored', one);
  await killed.run('export', 'restored', other);
  await assertSameParts(one, other);
  const answers: (readonly unknown[])[] = [];
  for (const place of [whole, killed]) {
    const app = await place.serve(t);
    answers.push(await look(app.url, '/i/restored', token));
    await app.stop();
  }
  // One of a few hundred that differ would be shown with all of them.
  for (const [at, answer] of (answers[0] ?? []).entries()) assert.deepEqual(answers[1]?.[at], answer);
}

describe('an import of an archive that is killed again and again ends as one that is not', () => {
  for (const [engine, use] of [
    ['sqlite', 'moved'],
    ['postgres', 'moved'],
    ['sqlite', 'copy'],
    ['postgres', 'backup'],
  ] as const)
    test(`as ${use} on ${engine}`, (t) => killAgainAndAgain(t, engine, use));
});

for (const engine of ['sqlite', 'postgres'] as const)
  test(`an import on ${engine} goes on with the same archive only, and not with --restart`, async (t) => {
    const { folder, file, later } = await makeSource(t, new Random(7));
    const place = await makePlace(t, engine);
    await place.run('instance', 'create', 'other');
    const death = { path: file, as: 'copy', what: 'many', words: 4, laterMs: 0 } as const;
    const command = (path: string, ...more: readonly string[]): Promise<string> =>
      place.run('import', 'archive', path, '--copy', '--as', 'restored', ...more);
    assert.equal(await dieImporting(t, place, death), false);
    assert.equal(await dieImporting(t, place, death), false);
    assert.ok(rowsThere(await command(file)) > 1_000);
    await place.run('instance', 'delete', 'restored', '--yes');

    assert.equal(await dieImporting(t, place, death), false);
    assert.equal(rowsThere(await command(later)), 0);
    const again = join(folder, 'again.chancery');
    await place.run('export', 'restored', again);
    assert.match(
      (await readParts(again)).get('records/many.ndjson') ?? '',
      new RegExp(`"number":${records}\\b`),
    );
    await place.run('instance', 'delete', 'restored', '--yes');

    assert.equal(await dieImporting(t, place, death), false);
    assert.equal(rowsThere(await command(file, '--restart')), 0);
    assert.match(await place.run('instance', 'list'), /\trestored\tactive\t/);
  });

test('an import does not go on over rows that another content of the archive has left', async (t) => {
  const { folder, file } = await makeSource(t, new Random(7));
  const place = await makePlace(t, 'sqlite');
  await place.run('instance', 'create', 'other');
  const damaged = join(folder, 'damaged.chancery');
  const zip = new ZipFile();
  for (const [name, content] of await readParts(file)) {
    const altered = name === 'records/many.ndjson' ? content.replace('"number":7', '"number":8') : content;
    assert.equal(altered !== content, name === 'records/many.ndjson');
    zip.addBuffer(Buffer.from(altered, 'latin1'), name);
  }
  zip.end();
  // The types of yazl know it as the interface of readable streams.
  await pipeline(zip.outputStream as Readable, createWriteStream(damaged));
  // In the middle of the records: what is wrong with them is found at their end.
  assert.equal(
    await dieImporting(t, place, { path: damaged, as: 'moved', what: 'many', words: 4, laterMs: 0 }),
    false,
  );
  const command = ['import', 'archive', file, '--as', 'restored'];
  const { code, stderr } = await place.try(...command);
  assert.equal(code, 65);
  assert.match(stderr, /its rows are not those that were stored before/);
  assert.doesNotMatch(await place.run('instance', 'list', '--all'), /restored/);
  assert.equal(rowsThere(await place.run(...command)), 0);
});
