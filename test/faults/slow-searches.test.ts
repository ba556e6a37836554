import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyDisk, faultyDiskMissing } from './faulty-disk.ts';
import { Journal } from './journal.ts';
import { prepareFolder } from './prepare-folder.ts';
import { ServerProcess } from './server-process.ts';

const here = { skip: faultyDiskMissing ?? false };
const log = '/data.db-wal';
/** So many that no main thread compares them all within its budget, and every thread within the query timeout. */
const rowsMax = 1_000;
const filter = Array.from({ length: 190 }, () => "title~'a%b'").join('||');
const slow = `posts/records?perPage=1&filter=${encodeURIComponent(`id!=''&&(${filter}||title!='')`)}`;

interface Place {
  readonly disk: FaultyDisk;
  readonly create: () => Promise<number>;
  /** Returns the status of a list and how many records it has, or its message. */
  readonly list: (path: string) => Promise<readonly [number, unknown]>;
}

test('a slow search shows no commit that is not on the disk yet', here, async (t) => {
  const { disk, create, list } = await start(t);
  assert.deepEqual(await list(slow), [200, rowsMax]);
  const { syncs } = disk.counts;
  disk.fail({ call: 'sync', error: 'hang', suffix: log });
  const created = create();
  await eventually('the commit is being synced', () => disk.counts.syncs > syncs);
  let isHealed = false;
  const found = list(slow).then((answer) => [isHealed, ...answer]);
  // Long enough for a thread to find the record and, if nothing kept it from that, to show it.
  for (let asked = 0; asked < 200; asked += 1)
    assert.deepEqual(await list('posts/records?perPage=1'), [200, rowsMax]);
  isHealed = true;
  disk.heal();
  assert.equal(await created, 201);
  assert.deepEqual(await found, [true, 200, rowsMax + 1]);
});

test('a slow search fails like others when the sync of what it may have seen has failed', here, async (t) => {
  const { disk, create, list } = await start(t);
  disk.fail({ call: 'sync', error: 'EIO', suffix: log, times: 1 });
  assert.equal(await create(), 500);
  assert.deepEqual(await list('posts/records?perPage=1'), [200, rowsMax]);
  assert.deepEqual(await list(slow), [503, 'The service is not available, try again later.']);
  // Opens the file again, and saves what was not synced.
  assert.equal(await create(), 201);
  assert.deepEqual(await list(slow), [200, rowsMax + 2]);
});

async function start(t: TestContext): Promise<Place> {
  const journal = await Journal.open();
  atEnd(t, () => journal.close());
  const folder = await prepareFolder(journal, []);
  atEnd(t, () => rmSync(folder.data, { recursive: true }));
  const database = new DatabaseSync(folder.file);
  database.exec(`
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rowsMax - 1})
    INSERT INTO posts (id, title, body, created, updated, "$revision") SELECT 'post' || n, 'title', '', '', '', 1 FROM n`);
  database.close();
  const disk = new FaultyDisk();
  atEnd(t, () => disk.close());
  const server = await ServerProcess.start({ data: folder.data }, disk.environment(folder.data));
  atEnd(t, () => server.signal('SIGKILL'));
  disk.count(log);
  const collections = `${server.url}/api/collections`;
  const place: Place = {
    disk,
    create: async () => {
      const headers = { 'content-type': 'application/json' };
      const request = { method: 'POST', headers, body: '{"title":"new"}' };
      return (await fetch(`${collections}/posts/records`, request)).status;
    },
    list: async (path) => {
      const { status, ...response } = await fetch(`${collections}/${path}`).then(async (answer) => ({
        status: answer.status,
        // The list contract of http-api.md, or an error's.
        json: (await answer.json()) as { readonly totalItems?: number; readonly message?: string },
      }));
      return [status, response.json.totalItems ?? response.json.message];
    },
  };
  // The first commit begins the log, which the main thread itself syncs.
  assert.equal(await place.create(), 201);
  return place;
}
