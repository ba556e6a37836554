import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { runMain } from '../support/main-process.ts';
import { FaultyDisk, faultyDiskMissing, type DiskFault } from './faulty-disk.ts';
import { assertConsistent, create, createAndDeliver, log, startPlace, type Place } from './faulty-place.ts';
import { ServerProcess } from './server-process.ts';
import { notInSample } from '../support/sample.ts';

const here = { skip: faultyDiskMissing ?? false };
const inAll = { skip: here.skip === false ? notInSample.skip : here.skip };
test('a failed sync answers 500 and the file is opened again', here, async (t) => {
  const place = await startPlace(t);
  const { disk, server } = place;
  for (const failures of [1, 2]) {
    await createAndDeliver(place);
    const { opens } = disk.counts;
    disk.fail({ call: 'sync', error: 'EIO', suffix: log, times: failures });
    // The second meets the failure before it has begun: when the file is opened again.
    for (let n = 0; n < failures; n += 1) await create(place, n === 0 ? 500 : 503);
    await create(place, 201);
    assert.ok(disk.counts.opens > opens, 'the file was opened again');
  }
  await eventually('the log says why', () =>
    ['EIO: i/o error, fdatasync', 'disk I/O error'].every((text) => server.log.join('').includes(text)),
  );
  await assertConsistent(place);
});

test('while a commit is synced, reads are answered and see what is on the disk', here, async (t) => {
  const place = await startPlace(t);
  const { disk, server, journal } = place;
  await createAndDeliver(place);
  const records = `${server.url}/api/collections/posts/records`;
  const totalOf = async (): Promise<unknown> => {
    // The list contract of http-api.md.
    const list = (await (await fetch(records)).json()) as { readonly totalItems: number };
    return list.totalItems;
  };
  const [{ length }, { syncs }] = [journal.receipts, disk.counts];
  disk.fail({ call: 'sync', error: 'hang', suffix: log });
  const created = create(place, 201);
  await eventually('the commit is being synced', () => disk.counts.syncs > syncs);
  for (const path of ['', '/live', '/ready'])
    assert.equal((await fetch(`${server.url}/api/health${path}`)).status, 200);
  assert.equal(await totalOf(), 2);
  assert.equal(place.answers.at(-1)?.status, 0, 'the create is not answered yet');
  assert.equal(journal.receipts.length, length, 'nothing of it is sent yet');
  disk.heal();
  await created;
  assert.equal(await totalOf(), 3);
  await assertConsistent(place);
});

test('a disk that turns slow blocks reads for one sync', here, async (t) => {
  const place = await startPlace(t);
  const { disk, server } = place;
  // A quick disk is synced by the thread that reads.
  for (let n = 0; n < 100; n += 1) await create(place, 201);
  const alive = async (): Promise<number> => (await fetch(`${server.url}/api/health/live`)).status;
  for (const isFirst of [true, false]) {
    await createAndDeliver(place);
    const { syncs } = disk.counts;
    disk.fail({ call: 'sync', error: 'hang', suffix: log });
    const created = create(place, 201);
    await eventually('the commit is being synced', () => disk.counts.syncs > syncs);
    if (!isFirst) assert.equal(await alive(), 200);
    disk.heal();
    await created;
  }
  await assertConsistent(place);
});

test(
  'an attempt is settled once its result is on the disk, and settled again when that fails',
  here,
  async (t) => {
    const place = await startPlace(t);
    const { disk, server, journal } = place;
    const { length } = journal.receipts;
    // Behind the record's own: its webhook's.
    disk.fail({ call: 'sync', error: 'EIO', suffix: log, times: 1, skip: 1 });
    const { opens, syncs } = disk.counts;
    const sizeBefore = sizeOf(place);
    await create(place, 201);
    await eventually('its result was not stored', () => /could not be stored/.test(server.log.join('')));
    await eventually('the file was opened again', () => disk.counts.opens > opens);
    // What the disk has refused of the log would end it there after a power cut.
    await eventually('the log has begun anew', () => sizeOf(place) < sizeBefore);
    await eventually('it was synced in the end', () => disk.counts.syncs >= syncs + 3);
    assert.equal(journal.receipts.length, length + 1, 'nothing was sent twice');
    await assertConsistent(place);
  },
);

test('a write that fails answers 500 and leaves nothing half there', here, async (t) => {
  const place = await startPlace(t);
  // One after the other, every write that a commit makes.
  for (let skip = 0; skip < 24; skip += 1) {
    place.disk.fail({ call: 'write', error: 'EIO', suffix: log, times: 1, skip });
    await create(place, undefined);
    place.disk.heal();
    await create(place, 201);
  }
  assert.ok(place.answers.some(({ status }) => status === 500));
  await assertConsistent(place);
});

test('many writers share the fate of a failed sync, and none of them is half there', inAll, async (t) => {
  const place = await startPlace(t);
  for (let round = 0; round < 10; round += 1) {
    place.disk.fail({ call: 'sync', error: 'EIO', suffix: log, times: 1, skip: round % 3 });
    await Promise.all(Array.from({ length: 16 }, () => create(place, undefined)));
    place.disk.heal();
  }
  assert.ok(place.answers.some(({ status }) => status === 500));
  assert.ok(place.answers.some(({ status }) => status === 201));
  await assertConsistent(place);
});

test(
  'a file that cannot be opened again at once is opened later, and no descriptor is lost meanwhile',
  here,
  async (t) => {
    const place = await startPlace(t);
    const { disk, server } = place;
    disk.fail({ call: 'open', error: 'EMFILE', suffix: log });
    disk.fail({ call: 'sync', error: 'EIO', suffix: log, times: 1 });
    await create(place, 500);
    const descriptors = descriptorsOf(server);
    for (let n = 0; n < 40; n += 1) await create(place, 503);
    // Each try would leave one at least. The log of requests may be opened meanwhile, with five of its own.
    assert.ok(
      descriptorsOf(server) < descriptors + 20,
      `${descriptorsOf(server)} after ${descriptors} descriptors`,
    );
    disk.heal();
    await create(place, 201);
    await assertConsistent(place);
  },
);

test(
  'a file that cannot be opened again to read at once is read as before, and written later',
  here,
  async (t) => {
    const place = await startPlace(t);
    const { disk, server } = place;
    disk.fail({ call: 'sync', error: 'EIO', suffix: log, times: 1 });
    await create(place, 500);
    failReader(disk, 0);
    await create(place, 503);
    assert.equal((await fetch(`${server.url}/api/collections/posts/records`)).status, 200);
    await create(place, 201);
    await assertConsistent(place);
  },
);

test('a file that cannot be opened to read leaves no descriptor behind', here, async (t) => {
  const { disk, server, folder } = await startPlace(t);
  await server.signal('SIGTERM');
  failReader(disk, 1);
  // It looks for deliveries as it starts.
  const again = await ServerProcess.start({ data: folder.data }, disk.environment(folder.data));
  atEnd(t, () => again.signal('SIGKILL'));
  await eventually('the instance cannot be opened', () => again.log.length > 0);
  const before = descriptorsOf(again);
  for (let n = 0; n < 40; n += 1) {
    failReader(disk, 1);
    assert.equal((await fetch(`${again.url}/api/health`)).status, 503);
  }
  assert.ok(descriptorsOf(again) < before + 20, `${descriptorsOf(again)} after ${before} descriptors`);
  assert.equal((await fetch(`${again.url}/api/health`)).status, 200);
});

test('a file that is gone when it is to be opened again is not replaced by an empty one', here, async (t) => {
  const place = await startPlace(t);
  const { disk, folder } = place;
  const elsewhere = `${folder.file}-elsewhere`;
  disk.fail({ call: 'sync', error: 'EIO', suffix: log, times: 1 });
  await create(place, 500);
  renameSync(folder.file, elsewhere);
  await create(place, 503);
  assert.equal(existsSync(folder.file), false);
  renameSync(elsewhere, folder.file);
  await create(place, 201);
  await assertConsistent(place);
});

test(
  'a file system that turned read-only refuses writes as not done, and reads continue',
  here,
  async (t) => {
    const place = await startPlace(t);
    const { disk, server } = place;
    assert.equal(await readinessOf(server), 'ready');
    disk.fail({ call: 'write', error: 'EROFS' });
    disk.fail({ call: 'open', error: 'EROFS' });
    assert.equal(await readinessOf(server), 'disk', 'before anything has failed');
    // The first finds the file open, the second opens it again.
    for (let n = 0; n < 3; n += 1)
      assert.equal((await create(place, 503)).headers.get('retry-after'), '30', `write ${n}`);
    assert.equal(await readinessOf(server), 'disk');
    assert.equal((await fetch(`${server.url}/api/collections/posts/records`)).status, 200);
    disk.heal();
    await create(place, 201);
    await becomesReady(server);
    await assertConsistent(place);
  },
);

test('a page that cannot be read fails its request and nothing else', here, async (t) => {
  const place = await startPlace(t);
  const { disk, server } = place;
  disk.fail({ call: 'read', error: 'EIO', suffix: log });
  const list = `${server.url}/api/collections/posts/records`;
  const refused = await fetch(list);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '30']);
  assert.equal(await readinessOf(server), 'damage');
  disk.heal();
  assert.equal((await fetch(list)).status, 200);
  await create(place, 201);
  assert.ok(server.isRunning);
  await assertConsistent(place);
});

test('a full disk answers 507 with Retry-After, still reads, and recovers', here, async (t) => {
  const place = await startPlace(t);
  const { disk, server } = place;
  disk.fail({ call: 'write', error: 'ENOSPC' });
  for (let n = 0; n < 5; n += 1) {
    const response = await create(place, 507);
    assert.equal(response.headers.get('retry-after'), '30');
    assert.equal(await readinessOf(server), 'disk');
  }
  const list = await fetch(`${server.url}/api/collections/posts/records`);
  assert.equal(list.status, 200);
  // Exactly what was acknowledged: a 507 promises that nothing was kept.
  // The list contract of http-api.md.
  const { totalItems } = (await list.json()) as { readonly totalItems: number };
  assert.equal(totalItems, 1);
  disk.heal();
  // Nobody writes but the service itself.
  await becomesReady(server);
  await create(place, 201);
  await assertConsistent(place);
});

test(
  'a disk that refuses syncs keeps the service from being ready until it takes them again',
  here,
  async (t) => {
    const place = await startPlace(t);
    const { disk, server } = place;
    disk.fail({ call: 'sync', error: 'EIO', suffix: log });
    await create(place, 500);
    const { syncs } = disk.counts;
    await eventually('the service has tried again', () => disk.counts.syncs > syncs);
    assert.equal(await readinessOf(server), 'disk');
    disk.heal();
    await becomesReady(server);
    await create(place, 201);
    await assertConsistent(place);
  },
);

test('a start that finds room for little still reads', here, async (t) => {
  const { disk, server, folder } = await startPlace(t);
  await server.signal('SIGKILL');
  // What SQLite keeps beside a file to share its log has room, the log has none.
  disk.fail({ call: 'write', error: 'ENOSPC', suffix: '-wal' });
  const again = await ServerProcess.start({ data: folder.data }, disk.environment(folder.data));
  atEnd(t, () => again.signal('SIGKILL'));
  const records = `${again.url}/api/collections/posts/records`;
  assert.equal((await fetch(records)).status, 200);
  const headers = { 'content-type': 'application/json' };
  assert.equal((await fetch(records, { method: 'POST', headers, body: '{"title":"no room"}' })).status, 507);
});

test('a start that finds no room at all says so', here, async (t) => {
  const { disk, server, folder } = await startPlace(t);
  await server.signal('SIGTERM');
  disk.fail({ call: 'write', error: 'ENOSPC' });
  const { code, stderr } = await runMain(
    t,
    ['serve', '--data', folder.data, '--port', '0'],
    disk.environment(folder.data),
  );
  assert.equal(code, 74);
  assert.match(stderr, /^chancery: [^\n]+control\.db cannot be opened: The storage is full\.\n$/);
});

test('a start that dies at any write or sync is followed by one that works', inAll, async (t) => {
  const disk = new FaultyDisk();
  atEnd(t, () => disk.close());
  // In steps, because each costs two starts of a server; of syncs there are fewer.
  for (const [call, step] of [
    ['write', 60],
    ['sync', 15],
  ] as const) {
    let deaths = 0;
    for (let skip = 1; await diesAtStart(t, disk, { call, error: 'death', times: 1, skip }); skip += step)
      deaths += 1;
    t.diagnostic(`${deaths} deaths by ${call}`);
    assert.ok(deaths >= 2, `${deaths} deaths by ${call}`);
  }
});

/** It asks a second time, for a log that it cannot write. `others` open it before. */
function failReader(disk: FaultyDisk, others: number): void {
  disk.fail({ call: 'open', error: 'EMFILE', suffix: log, times: 2, skip: others });
}

/** Returns why the service is not ready, after checking that its answer says nothing else; `ready` if it is. */
async function readinessOf({ url }: ServerProcess): Promise<string> {
  const response = await fetch(`${url}/api/health/ready`);
  // The health contract of http-api.md.
  const { code, data } = (await response.json()) as { readonly code: number; readonly data: object };
  assert.equal(code, response.status);
  if (response.ok) return 'ready';
  assert.deepEqual([response.status, Object.keys(data)], [503, ['reason']]);
  return Object.values(data).join('');
}

async function becomesReady(server: ServerProcess): Promise<void> {
  await eventually('the service is ready', async () => (await readinessOf(server)) === 'ready');
}

function sizeOf({ folder }: Place): number {
  return statSync(`${folder.file}-wal`).size;
}

function descriptorsOf(server: ServerProcess): number {
  return readdirSync(`/proc/${server.pid}/fd`).length;
}

/** Starts a server in an empty folder with the fault, and another one after it has died; false when it did not die. */
async function diesAtStart(t: TestContext, disk: FaultyDisk, fault: DiskFault): Promise<boolean> {
  const data = mkdtempSync(join(tmpdir(), 'chancery-faults-'));
  atEnd(t, () => rmSync(data, { recursive: true }));
  disk.fail(fault);
  const doomed = await ServerProcess.start({ data }, disk.environment(data)).catch(() => undefined);
  // A server listens before it has opened its instance.
  const isWell = doomed !== undefined && (await isHealthy(doomed.url));
  disk.heal();
  await doomed?.signal('SIGKILL');
  const server = await ServerProcess.start({ data });
  assert.ok(await isHealthy(server.url), `after ${JSON.stringify(fault)}`);
  assert.deepEqual(server.log, []);
  await server.signal('SIGKILL');
  return !isWell;
}

function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/api/health`).then(
    (response) => response.ok,
    () => false,
  );
}
