import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { FaultyDisk, faultyDiskMissing } from './faulty-disk.ts';
import { Journal } from './journal.ts';
import { prepareFolder } from './prepare-folder.ts';
import { ServerProcess } from './server-process.ts';
import { textOf } from './workload.ts';
import { atEnd } from '../support/at-end.ts';

const here = { skip: faultyDiskMissing ?? false };
const connections = 64;
const creates = 2_000;

test('a create is answered after a sync, and creates that wait together share one', here, async (t) => {
  const { firstSyncs, loadSyncs } = await countSyncs(t, false);
  t.diagnostic(`${loadSyncs} syncs for ${creates} creates over ${connections} connections`);
  assertSynced({ firstSyncs, loadSyncs });
});

test('the check above notices synchronous=NORMAL', here, async (t) => {
  const counted = await countSyncs(t, true);
  assert.throws(() => assertSynced(counted), assert.AssertionError);
});

interface SyncCounts {
  /** For one create on an idle server. */
  readonly firstSyncs: number;
  readonly loadSyncs: number;
}

function assertSynced({ firstSyncs, loadSyncs }: SyncCounts): void {
  assert.ok(firstSyncs >= 1, 'the first 201 came after a sync');
  // Each connection has one create under way, so at least this many commits were needed.
  assert.ok(loadSyncs >= creates / connections, `${loadSyncs} syncs are too few`);
  assert.ok(loadSyncs <= creates / 4, `${loadSyncs} syncs are not far fewer than ${creates} creates`);
}

/** Syncs of the instance's log only: the log is what a commit waits for. */
async function countSyncs(t: TestContext, isUnsynced: boolean): Promise<SyncCounts> {
  const journal = await Journal.open();
  atEnd(t, () => journal.close());
  const { data } = await prepareFolder(journal, []);
  atEnd(t, () => rmSync(data, { recursive: true }));
  const disk = new FaultyDisk();
  atEnd(t, () => disk.close());
  disk.count('/data.db-wal');
  const server = await ServerProcess.start({ data, isUnsynced }, disk.environment(data));
  // The first write makes a new log, whose header is synced whatever the setting.
  await create(server.url, 'w');
  const before = disk.counts.syncs;
  await create(server.url, 'x');
  const first = disk.counts.syncs;
  await Promise.all(
    Array.from({ length: connections }, async (_, client) => {
      for (let n = client; n < creates; n += connections) await create(server.url, `t${n}`);
    }),
  );
  const after = disk.counts.syncs;
  await server.signal('SIGTERM');
  return { firstSyncs: first - before, loadSyncs: after - first };
}

async function create(url: string, token: string): Promise<void> {
  const response = await fetch(`${url}/api/collections/posts/records`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title: token, body: textOf(token) }),
  });
  await response.arrayBuffer();
  assert.equal(response.status, 201);
}
