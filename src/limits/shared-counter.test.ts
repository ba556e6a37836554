import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { eventually } from '../../test/support/eventually.ts';
import { MovableClock } from '../../test/support/movable-clock.ts';
import { ask, openTestPostgres } from '../../test/support/postgres.ts';
import { recordedDatabase } from '../../test/plans/recorded-database.ts';
import { parseMasterKey } from '../secrets/master-key.ts';
import { sealerFor } from '../secrets/seal.ts';
import type { Database } from '../storage/database.ts';
import { openPostgresHome } from '../storage/postgres/home.ts';
import { countTry } from './sign-in-guard.ts';
import { type Count, type CountedInstance, SharedCounter } from './shared-counter.ts';
import type { Limit } from './window-counter.ts';
import { sweepWindows, WindowStore } from './window-store.ts';

interface Node extends CountedInstance {
  /** Statements that it has sent. */
  readonly sent: string[];
  readonly database: Database;
}

interface Stage {
  readonly url: string;
  readonly clock: MovableClock;
  readonly nodes: readonly [Node, Node, Node];
  /** Whether each of so many takes on this node is allowed, one after the other. */
  readonly takes: (counter: SharedCounter, node: Node, asked: Asked) => Promise<readonly boolean[]>;
}

interface Asked {
  readonly max: number;
  readonly count: number;
}

const sealer = sealerFor(
  parseMasterKey('0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94', 'key'),
  'a',
);

const durationMs = 10_000;

/** What is late on a slow machine is no reason for a test to fail. */
const patienceMs = 60_000;

/** Three nodes on one database that know nothing of each other. */
async function openNodes(t: TestContext, waitMsMax?: number): Promise<Stage> {
  const url = await (await openTestPostgres()).createDatabase();
  const clock = new MovableClock();
  const open = async (): Promise<Node> => {
    const home = await openPostgresHome({ url });
    t.after(() => home.stop());
    const sent: string[] = [];
    const database = recordedDatabase(home.control, ({ text }) => void sent.push(text));
    const options = { instanceId: 'a', database, clock, sealer };
    return {
      id: 'a',
      dueClock: clock,
      windows: new WindowStore(options, waitMsMax),
      sent,
      database: home.background,
    };
  };
  const nodes = [await open(), await open(), await open()] as const;
  const takes: Stage['takes'] = async (counter, node, { max, count }) => {
    const allowed: boolean[] = [];
    for (let index = 0; index < count; index += 1)
      allowed.push((await counter.take(node, 'k', limit(max))).isAllowed);
    return allowed;
  };
  return { url, clock, nodes, takes };
}

function limit(max: number): Limit {
  return { max, durationMs };
}

function allowedOf(list: readonly boolean[]): number {
  return list.filter((isAllowed) => isAllowed).length;
}

test('counts are exact over all nodes, sequentially and concurrently', async (t) => {
  const { nodes, clock, takes } = await openNodes(t, patienceMs);
  const counter = new SharedCounter({ kind: 'x', keysMax: 10 });
  let count = 0;
  for (const node of nodes) count += allowedOf(await takes(counter, node, { max: 50, count: 30 }));
  assert.equal(count, 50);
  clock.move(durationMs);
  const windows = await Promise.all(
    Array.from({ length: 90 }, async (_, index) =>
      counter.take(nodes[index % 3] ?? nodes[0], 'k', limit(50)),
    ),
  );
  assert.equal(allowedOf(windows.map(({ isAllowed }) => isAllowed)), 50);
  for (const { endMs } of windows) assert.equal(endMs, clock.now() + durationMs);
});

test('a refund on one node frees a place on another, in the same window only', async (t) => {
  const { nodes, clock } = await openNodes(t, patienceMs);
  const [a, b] = nodes;
  const counter = new SharedCounter({ kind: 'x', keysMax: 10 });
  const take = async (node: Node): Promise<Count> => counter.take(node, 'k', limit(1));
  const first = await take(a);
  assert.deepEqual(
    [first.isAllowed, (await take(b)).isAllowed, (await take(a)).isAllowed],
    [true, false, false],
  );
  await first.refund();
  await first.refund();
  const again = await take(a);
  assert.deepEqual([again.isAllowed, (await take(b)).isAllowed], [true, false]);
  await again.refund();
  assert.equal((await take(b)).isAllowed, true);
  clock.move(durationMs);
  const next = await take(a);
  assert.equal(next.isAllowed, true);
  await first.refund();
  assert.deepEqual([(await take(b)).isAllowed, (await take(a)).isAllowed], [false, false]);
});

test('each request is counted, a full window is read once, and concurrent requests share a statement', async (t) => {
  const { nodes, takes } = await openNodes(t, patienceMs);
  const [a, b, c] = nodes;
  const counter = new SharedCounter({ kind: 'x', keysMax: 10, isFinal: true });
  assert.equal(allowedOf(await takes(counter, a, { max: 40, count: 30 })), 30);
  assert.equal(a.sent.length, 30);
  assert.equal(allowedOf(await takes(counter, b, { max: 40, count: 100 })), 10);
  assert.equal(b.sent.length, 10);
  assert.equal(allowedOf(await takes(counter, a, { max: 40, count: 100 })), 0);
  assert.equal(a.sent.length, 31);
  const crowd = await Promise.all(
    Array.from({ length: 500 }, async () => counter.take(c, 'crowd', limit(400))),
  );
  assert.equal(allowedOf(crowd.map(({ isAllowed }) => isAllowed)), 400);
  assert.deepEqual(
    crowd.map(({ used }) => used).slice(0, 400),
    Array.from({ length: 400 }, (_, index) => index + 1),
  );
  assert.ok(c.sent.length <= 2, `${c.sent.length} statements`);
});

test('a flood of keys is a few statements, and the rows of two nodes do not stand in each other’s way', async (t) => {
  const { nodes } = await openNodes(t, patienceMs);
  const counter = new SharedCounter({ kind: 'x', keysMax: 10_000, isFinal: true });
  const keys = Array.from({ length: 2_000 }, (_, index) => `k${index}`);
  const flood = (node: Node, list: readonly string[]): Promise<readonly Count[]> =>
    Promise.all(list.map(async (key) => counter.take(node, key, limit(1))));
  const windows = await Promise.all([
    flood(nodes[0], keys),
    flood(nodes[1], keys.toReversed()),
    flood(nodes[2], keys),
  ]);
  assert.equal(allowedOf(windows.flat().map(({ isAllowed }) => isAllowed)), keys.length);
  for (const { sent } of nodes) assert.ok(sent.length <= 5, `${sent.length} statements`);
});

test('a window ends for all at once, and one of a clock that was set back does not go on', async (t) => {
  const { nodes, clock, takes } = await openNodes(t, patienceMs);
  const [a, b] = nodes;
  const counter = new SharedCounter({ kind: 'x', keysMax: 10, isFinal: true });
  assert.equal(allowedOf(await takes(counter, a, { max: 2, count: 3 })), 2);
  clock.move(durationMs - 1);
  for (const node of nodes) assert.equal(allowedOf(await takes(counter, node, { max: 2, count: 1 })), 0);
  clock.move(1);
  assert.equal(allowedOf(await takes(counter, b, { max: 2, count: 1 })), 1);
  assert.equal(allowedOf(await takes(counter, a, { max: 2, count: 3 })), 1);
  clock.move(-100_000);
  assert.equal(allowedOf(await takes(counter, a, { max: 2, count: 1 })), 1);
  assert.equal(allowedOf(await takes(counter, b, { max: 2, count: 3 })), 1);
});

test('a database that does not answer delays no request and lifts no limit, and requests that its node admitted meanwhile count there', async (t) => {
  const { url, nodes, takes } = await openNodes(t);
  const [a, b] = nodes;
  const counter = new SharedCounter({ kind: 'x', keysMax: 10, isFinal: true });
  assert.equal(allowedOf(await takes(counter, a, { max: 32, count: 2 })), 2);
  const holder = new Client({ connectionString: url });
  await holder.connect();
  t.after(() => holder.end());
  await holder.query('BEGIN; LOCK TABLE chancery.limit_window');
  const crowd = async (key: string, count: number): Promise<number> => {
    const windows = await Promise.all(
      Array.from({ length: count }, async () => counter.take(a, key, limit(32))),
    );
    return allowedOf(windows.map(({ isAllowed }) => isAllowed));
  };
  assert.equal(await crowd('k', 20), 20);
  // Nothing else is sent while a statement has no answer.
  assert.equal(allowedOf(await takes(counter, a, { max: 32, count: 4 })), 4);
  assert.equal(await crowd('other', 50), 32);
  assert.equal(a.sent.length, 3);
  await holder.query('COMMIT');
  const taken = async (): Promise<unknown> =>
    (await ask(url, 'SELECT taken::integer FROM chancery.limit_window'))[0]?.['taken'];
  await eventually('the late answer', async () => (await taken()) === 22);
  await eventually('it is known', async () => {
    await crowd('another', 1);
    return a.sent.length === 4;
  });
  assert.equal(allowedOf(await takes(counter, a, { max: 32, count: 10 })), 32 - 2 - 20 - 4);
  assert.equal(allowedOf(await takes(counter, b, { max: 32, count: 40 })), 4);
});

test('without the database each node counts alone', async (t) => {
  const { nodes, takes } = await openNodes(t, patienceMs);
  const [a, b] = nodes;
  const counter = new SharedCounter({ kind: 'x', keysMax: 10 });
  const options = { instanceId: 'a', database: b.database, clock: new MovableClock(), sealer };
  const dead = { ...a, windows: new WindowStore(options) };
  await b.database.stop();
  assert.equal(allowedOf(await takes(counter, dead, { max: 5, count: 9 })), 5);
});

test('a try that the first count refuses leaves the other counts unchanged', async (t) => {
  const { url, nodes } = await openNodes(t, patienceMs);
  const [a, b] = nodes;
  const wide = new SharedCounter({ kind: 'wide', keysMax: 10 });
  const narrow = new SharedCounter({ kind: 'narrow', keysMax: 10 });
  const attempt = async (node: Node, key: string, max = 2): Promise<string> => {
    const counted = await countTry(node, [
      { counter: wide, key: 'all', limit: limit(3) },
      { counter: narrow, key, limit: limit(max) },
    ]);
    return counted.kind;
  };
  assert.deepEqual([await attempt(a, 'x'), await attempt(b, 'x')], ['counted', 'counted']);
  // Refused by the second, and given back to the first.
  assert.equal(await attempt(a, 'x'), 'full');
  assert.equal(await attempt(a, 'y'), 'counted');
  for (const node of [a, b]) assert.equal(await attempt(node, 'z'), 'full');
  assert.deepEqual(await ask(url, 'SELECT taken::integer FROM chancery.limit_window ORDER BY taken'), [
    { taken: 1 },
    { taken: 2 },
    { taken: 3 },
  ]);
});

test('expired windows are deleted, and beyond the maximum the windows that end first', async (t) => {
  const { url, clock, nodes } = await openNodes(t, patienceMs);
  const [a, b] = nodes;
  const counter = new SharedCounter({ kind: 'x', keysMax: 10 });
  const rows = async (): Promise<number> => {
    const [row] = await ask(url, 'SELECT count(*)::integer AS count FROM chancery.limit_window');
    return Number(row?.['count']);
  };
  for (const key of ['k1', 'k2']) await counter.take(a, key, limit(1));
  clock.move(5_000);
  for (const key of ['k3', 'k4', 'k5']) await counter.take(a, key, limit(1));
  await sweepWindows(b.database, clock.now());
  assert.equal(await rows(), 5);
  clock.move(5_000);
  await Promise.all([a, b].map(({ database }) => sweepWindows(database, clock.now())));
  assert.equal(await rows(), 3);
  clock.move(1);
  await counter.take(a, 'k6', limit(1));
  await sweepWindows(b.database, clock.now(), 1);
  assert.equal(await rows(), 1);
  clock.move(durationMs);
  await sweepWindows(b.database, clock.now());
  assert.equal(await rows(), 0);
});

test('keys of shared windows reveal nothing of their clients', async (t) => {
  const { url, nodes } = await openNodes(t, patienceMs);
  const counter = new SharedCounter({ kind: 'x', keysMax: 10 });
  await counter.take(nodes[0], 'ann@example.com', limit(1));
  const [row] = await ask(url, 'SELECT key FROM chancery.limit_window');
  assert.match(String(row?.['key']), /^[\w-]{43}$/);
});
