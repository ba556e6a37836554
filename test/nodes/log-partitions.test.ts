import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { App } from '../../src/app.ts';
import type { Logger } from '../../src/base/logger.ts';
import { alwaysSafe } from '../../src/events/log-horizon.ts';
import { sql } from '../../src/sql/sql.ts';
import { readPartitions } from '../../src/storage/postgres/log-partitions.ts';
import { Janitor } from '../../src/dispatch/janitor.ts';
import { Partitions } from '../../src/dispatch/nodes/partitions.ts';
import { eventually } from '../support/eventually.ts';
import { logInto } from '../support/log-into.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { ask } from '../support/postgres.ts';
import { NodeGroup, posts, type Answer } from './node-group.ts';

type Json = Answer['json'];

const million = 1_000_000;
const dayMs = 86_400_000;
const days = 30;
const records = '/api/collections/posts/records';
const tables = ['event', 'delivery', 'outcome', 'attempt'];

class Stage {
  readonly group: NodeGroup;
  readonly node: App;
  readonly clock: MovableClock;

  private constructor(group: NodeGroup, node: App, clock: MovableClock) {
    this.group = group;
    this.node = node;
    this.clock = clock;
  }

  static async open(t: TestContext): Promise<Stage> {
    const clock = new MovableClock();
    const group = await NodeGroup.open(t, clock);
    const node = await group.start();
    await group.signIn(node);
    await group.get(node, 'POST /api/collections', posts);
    return new Stage(group, node, clock);
  }

  get(what: string, body?: unknown): Promise<Json> {
    return this.group.get(this.node, what, body);
  }

  async addEndpoint(settings = {}): Promise<string> {
    return (await this.get('POST /api/webhooks/endpoints', { url: this.group.receiver.url, ...settings })).id;
  }

  async post(...titles: readonly string[]): Promise<void> {
    for (const title of titles) await this.get(`POST ${records}`, { title });
  }

  /** Lets the next event have this position. */
  async goTo(position: number): Promise<void> {
    await ask(this.group.postgres, `SELECT setval('chancery.event_position_seq', ${position - 1})`);
  }

  /** Writes into three partitions, over both bounds. */
  async fillThree(): Promise<void> {
    await this.post('1');
    await this.goTo(million);
    await this.post('2', '3');
    await this.goTo(2 * million);
    await this.post('4', '5');
  }

  /** Moves the clock, and signs in again. */
  async pass(forDays: number): Promise<void> {
    this.clock.move(forDays * dayMs);
    await this.group.signIn(this.node);
  }

  async deliveries(query = ''): Promise<readonly Json[]> {
    return (await this.get(`GET /api/webhooks/deliveries?perPage=500&sort=created${query}`)).items;
  }

  async settled(status: string, count: number): Promise<void> {
    await eventually(`${count} ${status}`, async () => {
      const all = await this.deliveries();
      return all.filter((one) => one.status === status).length === count;
    });
  }

  /** What the janitor of a node does once an hour. Nothing is written meanwhile, so the whole log is safe. */
  async tidy(keptDays = days): Promise<void> {
    const { data } = this.node;
    const warn: Logger['warn'] = (message, members) =>
      void this.group.log.push(`${message} ${String(members?.['expired'])}`);
    const logger = { ...logInto(this.group.log), warn };
    const [row] = await ask(this.group.postgres, 'SELECT last_value FROM chancery.event_position_seq');
    const common = {
      clock: this.clock,
      logger,
      safeEnd: { ...alwaysSafe, safePosition: Number(row?.['last_value']) },
    };
    const retention = new Partitions({
      ...common,
      database: data.home.background,
      isChosen: () => true,
    });
    await new Janitor({
      ...common,
      retention,
      instances: () => data.directory.all().map(({ id }) => id),
      borrow: async (id) => {
        const entry = data.directory.find(id);
        return entry && (await data.instances.borrow(entry));
      },
      owns: () => true,
      wake: (id) => data.wakeUp.notify(id),
      days: keptDays,
    }).tidy();
  }

  /** Where the partitions of all tables begin. */
  async firsts(): Promise<readonly number[]> {
    const all = await readPartitions(this.node.data.home.control);
    const of = (name: string): readonly number[] =>
      all.filter(({ table }) => table === name).map(({ first }) => first);
    for (const name of tables) assert.deepEqual(of(name), of('event'), name);
    return of('event');
  }

  async count(table: string): Promise<number> {
    const [row] = await ask(this.group.postgres, `SELECT count(*)::integer AS count FROM chancery.${table}`);
    return Number(row?.['count']);
  }
}

function titles(items: readonly Json[]): readonly string[] {
  return items.map(({ payload }) => payload.data.title);
}

test('a log over several partitions is delivered, listed, searched, told by the feed and replayed as one', async (t) => {
  const stage = await Stage.open(t);
  const { group } = stage;
  const id = await stage.addEndpoint({ order: 'record' });
  await stage.fillThree();
  await group.receiver.waitForRequests(5);
  await stage.settled('delivered', 5);
  const [spread] = await ask(
    group.postgres,
    'SELECT count(DISTINCT e.tableoid)::integer AS events, count(DISTINCT o.tableoid)::integer AS outcomes FROM chancery.event e, chancery.outcome o',
  );
  assert.deepEqual(spread, { events: 3, outcomes: 3 });

  const events: readonly Json[] = (await stage.get('GET /api/webhooks/events?sort=created')).items;
  assert.equal(events.length, 5);
  for (const { id: event } of events) {
    const found = await stage.get(`GET /api/webhooks/events/${event}`);
    assert.deepEqual([found.id, found.deliveries.length], [event, 1]);
    const [delivery] = await stage.deliveries(`&filter=${encodeURIComponent(`event = "${event}"`)}`);
    assert.equal(delivery.attempts.length, 1);
  }
  const told: Json[] = [];
  let query = 'perPage=2';
  await eventually('the feed has told all', async () => {
    const { items, nextCursor } = await stage.get(`GET /api/webhooks/feed?${query}`);
    told.push(...items);
    query = `perPage=2&cursor=${encodeURIComponent(nextCursor)}`;
    return told.length >= 5;
  });
  assert.deepEqual(titles(told), ['1', '2', '3', '4', '5']);

  await stage.get(`POST /api/webhooks/endpoints/${id}/replay`, { scope: 'all' });
  await group.receiver.waitForRequests(10);
  const ids = group.receiver.requests.map(({ headers }) => String(headers['webhook-id']));
  assert.deepEqual(ids.slice(5).toSorted(), ids.slice(0, 5).toSorted());
  assert.deepEqual(group.log, []);
});

test('old partitions go with all that is in them and nothing younger, when what waited there was given up', async (t) => {
  const stage = await Stage.open(t);
  const { group, node } = stage;
  await stage.addEndpoint();
  const paused = await stage.addEndpoint({ status: 'paused' });
  await stage.post('1');
  await stage.goTo(million);
  await stage.post('2');
  await stage.settled('delivered', 2);
  // One has failed before the endpoint was paused, the other one is to be sent for the first time.
  await ask(
    group.postgres,
    `INSERT INTO chancery.outcome (instance_id, event, endpoint, due, attempts, is_wide, status, cause, updated)
     SELECT d.instance_id, d.event, d.endpoint, 1, 1, 0, 'pending', '', '' FROM chancery.delivery d
     JOIN chancery.endpoint p ON p.position = d.endpoint WHERE p.id = '${paused}' AND d.event = 1`,
  );
  await stage.pass(days);
  await stage.tidy();
  assert.equal(await stage.count('event'), 2, 'nothing is older than that');
  await stage.post('3');
  await stage.pass(1);

  await stage.tidy(0);
  await stage.tidy();
  assert.deepEqual(group.log, ['Deliveries expired before they could be sent. 2']);
  await stage.settled('expired', 2);
  const cause = 'It was still waiting when the log was trimmed.';
  const expired = await stage.deliveries('&filter=status="expired"');
  assert.deepEqual(
    expired.map((one) => [one.endpoint, one.cause]),
    Array.from({ length: 2 }, () => [paused, cause]),
  );
  const { total } = await stage.get(`GET /api/webhooks/endpoints/${paused}/figures`);
  assert.deepEqual([total.delivered, total.expired], [0, 2]);
  assert.equal((await stage.firsts())[0], 0, 'results of attempts may still be on their way');
  assert.equal((await group.ask(node, 'GET /api/webhooks/feed?since=2026-11-20')).status, 400);

  await stage.tidy();
  assert.equal((await stage.firsts())[0], million + 1);
  const left: readonly Json[] = (await stage.get('GET /api/webhooks/events')).items;
  assert.equal(left.length, 1);
  assert.equal(left[0].deliveries.length, 2);
  await stage.settled('delivered', 1);
  await stage.settled('pending', 1);
  for (const table of ['event', 'outcome', 'attempt']) assert.equal(await stage.count(table), 1, table);
  assert.deepEqual([await stage.count('delivery'), await stage.count('gap')], [2, 0]);
  assert.equal(group.log.length, 1);
  await stage.get(`POST /api/webhooks/endpoints/${paused}/resume`);
  await stage.settled('delivered', 2);
});

test('where a partition takes weeks to fill, old events leave it one by one', async (t) => {
  const stage = await Stage.open(t);
  await stage.addEndpoint();
  await stage.post('old');
  await stage.settled('delivered', 1);
  await stage.pass(days + 1);
  await stage.post('new');
  await stage.tidy();
  assert.equal(await stage.count('event'), 2);
  await stage.pass(1.5);
  await stage.tidy();
  for (const table of tables) assert.equal(await stage.count(table), 1, table);
  assert.equal((await stage.firsts())[0], 0);
});

test('an instance that cannot give up what waits keeps the log of all for a day and no longer', async (t) => {
  const stage = await Stage.open(t);
  await stage.fillThree();
  const { background: database } = stage.node.data.home;
  const partitions = new Partitions({
    database,
    clock: stage.clock,
    logger: logInto(stage.group.log),
    safeEnd: { safePosition: 2 * million },
    isChosen: () => true,
  });
  const lost: unknown[] = [];
  const giveUp = (instanceId: string, trimmed: unknown): Promise<void> => {
    lost.push([instanceId, trimmed]);
    return Promise.resolve();
  };
  const time = stage.clock.now();
  await partitions.dropOld(time, giveUp);
  assert.deepEqual(lost, []);
  await partitions.dropOld(time + 1, giveUp);
  const [{ id } = { id: '' }] = stage.node.data.directory.all();
  const created = await database.tuples(sql`SELECT created FROM chancery.event WHERE position = 1000000`);
  assert.deepEqual(lost, [[id, { position: million, time: created[0]?.[0] }]]);
  assert.equal(await stage.count('event'), 5);
  await partitions.dropOld(time + dayMs + 1, giveUp);
  assert.equal(await stage.count('event'), 1);
  assert.equal((await stage.firsts())[0], 2 * million + 1);
});

test('two nodes at once keep two partitions ahead of the log', async (t) => {
  const stage = await Stage.open(t);
  const { background: database } = stage.node.data.home;
  const parts = {
    database,
    clock: stage.clock,
    logger: logInto(stage.group.log),
    safeEnd: { safePosition: 0 },
  };
  const nodes = [1, 2].map(() => new Partitions({ ...parts, isChosen: () => false }));
  const three = [0, million + 1, 2 * million + 1];
  await Promise.all(nodes.map((node) => node.look()));
  assert.deepEqual(await stage.firsts(), three);
  await stage.goTo(million + 1);
  await stage.post('in the second one');
  await Promise.all(nodes.map((node) => node.look()));
  assert.deepEqual(await stage.firsts(), [...three, 3 * million + 1]);
  assert.deepEqual(stage.group.log, []);
});
