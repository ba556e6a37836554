import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Client } from 'pg';
import type { App } from '../../src/app.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { ask } from '../support/postgres.ts';
import { beginElsewhere } from './begin-elsewhere.ts';
import { NodeGroup, posts } from './node-group.ts';
import { startPoll } from './start-poll.ts';

// What several writers mean for those who read the log: an event may appear behind later ones, and others wait for none of that.

const records = '/api/collections/posts/records';

interface Stage {
  readonly group: NodeGroup;
  readonly node: App;
}

async function openNode(t: TestContext, clock?: MovableClock): Promise<Stage> {
  const group = await NodeGroup.open(t, clock);
  const node = await group.start();
  await group.signIn(node);
  await group.get(node, 'POST /api/collections', posts);
  await group.get(node, 'POST /api/webhooks/endpoints', { url: group.receiver.url, maxInFlight: 64 });
  return { group, node };
}

async function post({ group, node }: Stage, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => group.get(node, `POST ${records}`, { title: 'x' })));
}

const lateId = 'lateevent00000000000';

/** Writes an event, and that all endpoints are told of it, as another node would. Returns its position. */
async function writeLate(client: Client): Promise<number> {
  const { rows } = await client.query<{ position: string }>(`
    INSERT INTO chancery.event (instance_id, id, kind, collection, collection_name, record, revision, created, body)
    SELECT instance_id, '${lateId}', kind, collection, collection_name, record, revision, created, body
    FROM chancery.event ORDER BY position LIMIT 1 RETURNING position`);
  const position = Number(rows[0]?.position);
  await client.query(`INSERT INTO chancery.delivery
    SELECT instance_id, ${position}, position FROM chancery.endpoint WHERE deleted = ''`);
  return position;
}

async function lastPosition({ group }: Stage): Promise<number> {
  const [row] = await ask(group.postgres, 'SELECT max(position) AS last FROM chancery.event');
  return Number(row?.['last']);
}

/** Fails unless so many events have arrived, each of them once, and all of them are settled. */
async function assertToldOnce({ group }: Stage, count: number): Promise<void> {
  await eventually(`${count} have arrived`, () => group.receiver.requests.length >= count);
  await eventually('all is settled', async () => {
    const pending = await ask(
      group.postgres,
      `SELECT 1 FROM ${storedDeliveries.postgres} WHERE status = 'pending'`,
    );
    return pending.length === 0;
  });
  const arrived = group.receiver.requests.map(({ headers }) => headers['webhook-id']);
  assert.equal(arrived.length, count);
  assert.equal(new Set(arrived).size, count);
}

test('a transaction that stays open delays no delivery and loses none, however many there are meanwhile', async (t) => {
  const stage = await openNode(t);
  await beginElsewhere(t, stage.group.postgres);
  for (let count = 100; count <= 700; count += 100) {
    await post(stage, 100);
    await stage.group.receiver.waitForRequests(count);
  }
  await assertToldOnce(stage, 700);
});

test('an event whose transaction commits after later ones is delivered, though nobody tells of it', async (t) => {
  const stage = await openNode(t);
  await using look = startPoll(stage.node);
  const { looked } = look;
  await post(stage, 3);
  await assertToldOnce(stage, 3);
  const other = await beginElsewhere(t, stage.group.postgres);
  await writeLate(other);
  // As long as it is the first one that is open, and when later ones are over.
  await looked(5);
  await post(stage, 3);
  await assertToldOnce(stage, 6);
  await looked(5);
  await post(stage, 1);
  await assertToldOnce(stage, 7);
  await other.query('COMMIT');
  await assertToldOnce(stage, 8);
  assert.equal(stage.group.receiver.requests.at(-1)?.headers['webhook-id'], lateId);
});

test('one that commits thousands of events later is delivered as well', async (t) => {
  const stage = await openNode(t);
  await post(stage, 1);
  await assertToldOnce(stage, 1);
  const other = await beginElsewhere(t, stage.group.postgres);
  await writeLate(other);
  // Positions that nobody has used are as far away as others.
  await ask(
    stage.group.postgres,
    "SELECT nextval('chancery.event_position_seq') FROM generate_series(1, 5000)",
  );
  await post(stage, 2);
  await assertToldOnce(stage, 3);
  await other.query('COMMIT');
  await assertToldOnce(stage, 4);
});

test('a look for work takes nothing for safe that a transaction may still bring, and finds it when it comes', async (t) => {
  const stage = await openNode(t);
  const [{ id } = {}] = stage.node.data.directory.all();
  const found: string[] = [];
  await using look = startPoll(stage.node, (instanceId) => found.push(instanceId));
  const { poll, looked } = look;
  await post(stage, 3);
  await eventually('all is safe', async () => poll.safePosition === (await lastPosition(stage)));
  const safe = poll.safePosition;
  const other = await beginElsewhere(t, stage.group.postgres);
  await writeLate(other);
  await looked(5);
  await post(stage, 3);
  await looked(5);
  assert.equal(poll.safePosition, safe);
  await other.query('COMMIT');
  found.length = 0;
  await eventually('it is found', () => found.length > 0);
  assert.deepEqual(new Set(found), new Set([id]));
  await eventually('all is safe', async () => poll.safePosition === (await lastPosition(stage)));
});

test('a position that is refreshed advances while no look for work ends', async (t) => {
  const stage = await openNode(t);
  await using look = startPoll(stage.node);
  const { poll, database } = look;
  const release = database.holdReads('SELECT DISTINCT instance_id');
  // A poll that is held would not stop.
  using _held = { [Symbol.dispose]: release };
  await eventually('a look is under way', () => database.heldCount > 0);
  await post(stage, 1);
  const last = await lastPosition(stage);
  await eventually('all is safe', () => {
    poll.refresh();
    return poll.safePosition === last;
  });
});

test('a look for work reports what becomes safe while it reads', async (t) => {
  const stage = await openNode(t);
  const found: string[] = [];
  await using look = startPoll(stage.node, (instanceId) => found.push(instanceId));
  const { poll, database } = look;
  await post(stage, 1);
  await eventually('all is safe', async () => poll.safePosition === (await lastPosition(stage)));
  const release = database.holdReads('SELECT DISTINCT instance_id');
  // A poll that is held would not stop.
  using _held = { [Symbol.dispose]: release };
  await eventually('a look has read deliveries', () => database.heldCount > 0);
  await post(stage, 1);
  while (poll.safePosition < (await lastPosition(stage))) await poll.nextSafe(100);
  found.length = 0;
  release();
  await eventually('the second is found', () => found.length > 0);
});

test('a node goes on where another has stopped, and sends nothing twice', async (t) => {
  const clock = new MovableClock();
  const stage = await openNode(t, clock);
  const { group, node } = stage;
  let sent = 0;
  await eventually('the cursor is stored behind the tenth event', async () => {
    // A cursor is stored once in a second.
    clock.move(2_000);
    await post(stage, 10);
    await assertToldOnce(stage, (sent += 10));
    const [lane] = await ask(group.postgres, 'SELECT cursor FROM chancery.lane');
    return Number(lane?.['cursor']) >= 10;
  });
  await node.stop();
  const other = { group, node: await group.start() };
  await group.divided(other.node, 1);
  await post(other, 10);
  await assertToldOnce(other, sent + 10);
});
