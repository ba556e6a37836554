import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { FaultyDisk } from './faulty-disk.ts';
import { Journal } from './journal.ts';
import { prepareFolder, type PreparedFolder } from './prepare-folder.ts';
import { ServerProcess } from './server-process.ts';
import { readStoredState } from './stored-state.ts';
import { textOf } from './workload.ts';
import { atEnd } from '../support/at-end.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';

/** What a commit writes and syncs. */
export const log = '/data.db-wal';

const deliveredMsMax = 60_000;

/** A server with one endpoint, on a disk that can be made to fail. */
export interface Place {
  readonly folder: PreparedFolder;
  readonly disk: FaultyDisk;
  readonly server: ServerProcess;
  readonly journal: Journal;
  readonly answers: { readonly token: string; readonly status: number }[];
}

export async function startPlace(t: TestContext): Promise<Place> {
  const journal = await Journal.open();
  atEnd(t, () => journal.close());
  const folder = await prepareFolder(journal, ['/only']);
  atEnd(t, () => rmSync(folder.data, { recursive: true }));
  const disk = new FaultyDisk();
  atEnd(t, () => disk.close());
  const server = await ServerProcess.start({ data: folder.data }, disk.environment(folder.data));
  atEnd(t, () => server.signal('SIGKILL'));
  const place = { folder, disk, server, journal, answers: [] };
  disk.count(log);
  await createAndDeliver(place);
  return place;
}

/** Asks for a record of its own and checks the status, if one is expected. */
export async function create(place: Place, expected: number | undefined): Promise<Response> {
  const token = `t${place.answers.length}`;
  const answer = { token, status: 0 };
  place.answers.push(answer);
  const response = await fetch(`${place.server.url}/api/collections/posts/records`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title: token, body: textOf(token) }),
  });
  answer.status = response.status;
  const text = await response.text();
  if (expected !== undefined) assert.equal(response.status, expected, text);
  return response;
}

/** Until nothing more is to be committed or synced, which would meet the next fault. */
export async function createAndDeliver(place: Place): Promise<void> {
  await create(place, 201);
  await untilDelivered(place.folder);
  // Groups of writes are synced one after the other, so this one, which has nothing to sync, waits for the sync of the result.
  const missing = `${place.server.url}/api/collections/posts/records/missing`;
  assert.equal((await fetch(missing, { method: 'DELETE' })).status, 404);
}

/** Once with the server alive and all delivered, once as it would be found after kill -9. */
export async function assertConsistent(place: Place): Promise<void> {
  const { folder, journal, server } = place;
  place.disk.heal();
  await untilDelivered(folder);
  await server.signal('SIGKILL');
  await journal.allReceived();
  const stored = readStoredState(folder.file);
  assert.equal(stored.integrity, 'ok');
  const titles = stored.records.map((record) => record.title);
  assert.equal(new Set(titles).size, titles.length);
  for (const { token, status } of place.answers) {
    if (status === 201) assert.ok(titles.includes(token), `${token} was acknowledged`);
    // 500 says that nobody knows.
    else if (status !== 500) assert.ok(!titles.includes(token), `${token} was answered ${status}`);
  }
  for (const { title, body } of stored.records) assert.equal(body, textOf(title));
  assert.deepEqual(stored.events.map((event) => event.title).toSorted(), titles.toSorted());
  assert.deepEqual([...new Set([...stored.deliveries.values()].map(({ status }) => status))], ['delivered']);
  const arrived = new Set(journal.receipts.map((receipt) => receipt.digest));
  for (const event of stored.events) assert.ok(arrived.has(event.digest), `${event.title} was delivered`);
  const committed = new Set(stored.events.map((event) => event.digest));
  for (const { digest, delivery } of journal.receipts)
    assert.ok(committed.has(digest), `${delivery} is of an event`);
  assert.deepEqual(journal.violations, []);
}

async function untilDelivered(folder: PreparedFolder): Promise<void> {
  const deadlineMs = performance.now() + deliveredMsMax;
  const database = new DatabaseSync(folder.file, { readOnly: true, timeout: 10_000 });
  const pending = database.prepare(
    `SELECT count(*) AS pending FROM ${storedDeliveries.sqlite} WHERE status = 'pending'`,
  );
  while (Number(pending.get()?.['pending']) > 0 && performance.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  database.close();
}
