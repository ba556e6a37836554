import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { ZipFile } from 'yazl';
import { type ArchivedRows, partsName } from '../../src/transfer/archive/archive-format.ts';
import { instanceMigrations } from '../../src/storage/migrations/instance-migrations.ts';
import { Random } from '../faults/random.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makePlace, readParts } from './archive-stage.ts';
import { fillWorld } from './archive-world.ts';

const superuser = 'ann@example.com';
const password = 'correct horse battery';

/** The last steps. */
const lastSteps = [
  'what endpoints hold',
  'portal links',
  'figures of endpoints by days',
  'verified endpoints of accounts',
  'batches of webhooks',
];

/** What they have added to tables that archives have, and the tables of archives that they have made. */
const added = {
  $endpoint: ['transitions', 'verified', 'challenged_until', 'batch'],
  $lane: ['reconcile_at'],
  $replay: ['record'],
  $outcome: ['batch', 'batch_size'],
  $attempt: ['batch', 'batch_size'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
const addedTables: readonly string[] = ['$held', '$endpoint_day'];

/** Takes from the parts of an archive what the last steps have added, and returns the digest of the list of parts. */
function withoutLastSteps(parts: Map<string, string>): string {
  const list = (parts.get(partsName) ?? '').trimEnd().split('\n');
  const lines = list.flatMap((line): string[] => {
    // The types of a part that an export has written.
    const part = JSON.parse(line) as ArchivedRows;
    if (addedTables.includes(part.table)) {
      parts.delete(part.name);
      return [];
    }
    const names: readonly string[] | undefined = Object.entries(added).find(
      ([table]) => table === part.table,
    )?.[1];
    if (names === undefined) return [line];
    const columns = part.columns.filter(([name]) => !names.includes(name));
    assert.equal(columns.length, part.columns.length - names.length);
    const rows = (parts.get(part.name) ?? '').split('\n').map((row) => {
      if (row === '') return row;
      // A row is an object.
      const members = Object.entries(JSON.parse(row) as object).filter(([name]) => !names.includes(name));
      return JSON.stringify(Object.fromEntries(members));
    });
    const content = rows.join('\n');
    parts.set(part.name, content);
    return [JSON.stringify({ ...part, columns, bytes: content.length, sha256: digestOf(content) })];
  });
  const text = `${lines.join('\n')}\n`;
  parts.set(partsName, text);
  return digestOf(text);
}

function digestOf(content: string): string {
  return createHash('sha256').update(Buffer.from(content, 'latin1')).digest('hex');
}

/** Writes the archive that a version before the last steps would have written. */
async function writeOlder(file: string, path: string): Promise<void> {
  const parts = await readParts(file);
  const steps = instanceMigrations.slice(0, -lastSteps.length);
  assert.deepEqual(
    instanceMigrations.slice(-lastSteps.length).map(({ name }) => name),
    lastSteps,
    'another step is the last one: change this test',
  );
  const manifest = parts.get('manifest.json') ?? '';
  const layout = `"layout": "${steps.length} ${steps.at(-1)?.name}"`;
  const digest = `"parts": "${withoutLastSteps(parts)}"`;
  const older = manifest.replace(/"layout": "[^"]+"/, layout).replace(/"parts": "[^"]+"/, digest);
  parts.set('manifest.json', older);
  const zip = new ZipFile();
  for (const [part, content] of parts) zip.addBuffer(Buffer.from(content, 'latin1'), part);
  zip.end();
  // The types of yazl know it as the interface of readable streams.
  await pipeline(zip.outputStream as Readable, createWriteStream(path));
}

for (const engine of ['sqlite', 'postgres'] as const)
  test(`an archive of an older version is brought up to date when it is imported on ${engine}`, async (t) => {
    const folder = temporaryFolder(t);
    const [source, target] = [await makePlace(t, 'sqlite'), await makePlace(t, engine)];
    await target.run('superuser', 'upsert', superuser, password);
    await source.run('superuser', 'upsert', superuser, password);
    const before = await source.serve(t);
    const pb = new PocketBase(before.url);
    await pb.collection('_superusers').authWithPassword(superuser, password);
    await fillWorld(pb, new Random(7), 'http://127.0.0.1:9/hook');
    const notes = await pb.collection('notes').getFullList({ sort: 'serial' });
    const token = await pb.files.getToken();
    assert.notEqual(token, '');
    await before.stop();
    const [file, older] = [join(folder, 'new.chancery'), join(folder, 'old.chancery')];
    await source.run('export', 'default', file);
    await writeOlder(file, older);
    await target.run('import', 'archive', older, '--as', 'restored');
    const after = await target.serve(t);
    pb.baseURL = `${after.url}/i/restored`;
    assert.deepEqual(await pb.collection('notes').getFullList({ sort: 'serial' }), notes);
    await pb.collection('notes').create({ serial: 1_000 });
  });
