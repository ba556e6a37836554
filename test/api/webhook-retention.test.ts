// Both engines: the log is trimmed by SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { alwaysSafe } from '../../src/events/log-horizon.ts';
import { sql } from '../../src/sql/sql.ts';
import { Janitor, type JanitorOptions, rowByRow } from '../../src/dispatch/janitor.ts';
import { eventually } from '../support/eventually.ts';
import { answers, HeldSender, type SenderPort } from '../support/held-sender.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { testEngine } from '../support/test-config.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const day = 86_400_000;
const skip = testEngine === 'sqlite' ? 'works run one after the other' : false;

interface Trial {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  readonly sender: () => HeldSender;
  /** Lets days pass. */
  readonly pass: (days: number) => Promise<void>;
  /** Does what the service does once an hour. */
  readonly tidy: (days?: number) => Promise<void>;
  /** Titles of records, in the order in which they were sent. */
  readonly titles: () => readonly string[];
  /** Resolves when so many were sent. */
  readonly sent: (count: number) => Promise<void>;
  readonly allOver: () => Promise<void>;
}

async function start(t: TestContext): Promise<Trial> {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { wrapSender, clock } });
  sender.answer = answers.ok;
  const titles = (): readonly string[] =>
    // webhooks.md section 1: the record's fields are in `data`.
    sender.given.map(({ body }) => JSON.parse(Buffer.from(body).toString('utf8')).data.title);
  return {
    service,
    clock,
    sender: () => sender,
    pass: async (days) => {
      clock.move(days * day);
      await service.signIn();
    },
    tidy: (days = 30) => janitorOf(service, { days, clock }).tidy(),
    titles,
    sent: async (count) => {
      await eventually(`${count} are sent`, () => {
        service.look();
        return titles().length >= count;
      });
    },
    allOver: async () => {
      await eventually('all is over', async () => {
        service.look();
        return (await service.deliveries("status = 'pending'")).length === 0;
      });
    },
  };
}

function janitorOf(
  { app, log }: WebhookService,
  options: Pick<JanitorOptions, 'days' | 'clock'> & Partial<JanitorOptions>,
): Janitor {
  const { directory, instances } = app.data;
  const at = (level: string) => (message: string, members?: object) =>
    // The list is the service's own.
    void (log as Json[]).push({ level, message, members });
  return new Janitor({
    instances: () => Array.from(directory.all(), ({ id }) => id),
    borrow: async (id) => {
      const entry = directory.find(id);
      return entry === undefined ? undefined : instances.borrow(entry);
    },
    owns: () => true,
    retention: rowByRow,
    safeEnd: alwaysSafe,
    wake: (id) => app.data.wakeUp.notify(id),
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    ...options,
  });
}

/** How many rows there are of the log. */
async function rowsOf(service: WebhookService): Promise<Readonly<Record<string, number>>> {
  const tables = ['$event', '$delivery', '$outcome', '$attempt', '$gap', '$replay', '$endpoint'] as const;
  return service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const counts = tables.map(async (name) => {
      const [row] = await database.tuples(
        sql`SELECT count(*) FROM ${names.table(name)} WHERE ${names.instance.condition}`,
      );
      return [name.slice(1), Number(row?.[0])];
    });
    return Object.fromEntries(await Promise.all(counts));
  });
}

/** What is said of deliveries that were given up. */
function givenUp({ log }: WebhookService): readonly unknown[] {
  const message = 'Deliveries expired before they could be sent.';
  return log.filter((line) => line.message === message).map(({ members }) => members['expired']);
}

test('what is older than the log is kept goes, sent or not, and what is younger stays and is sent', async (t) => {
  const { service, pass, tidy, titles, sent, allOver } = await start(t);
  await service.addEndpoint();
  const { id: paused } = await service.addEndpoint({ status: 'paused' });
  for (const title of ['a', 'b']) await service.addPost(title);
  await sent(2);
  await pass(29);
  await service.addPost('c');
  await sent(3);
  const ofPaused = `endpoint = '${paused}'`;
  const [first, , third] = await service.deliveries(ofPaused);
  await tidy();
  assert.equal((await service.deliveries()).length, 6, 'nothing is 30 days old');
  assert.deepEqual(givenUp(service), []);

  await pass(2);
  await tidy(0);
  assert.equal((await service.deliveries()).length, 6, '0 is for ever');
  await tidy();
  assert.deepEqual(givenUp(service), [2]);
  const { total } = await service.call('GET', `/api/webhooks/endpoints/${paused}/figures`);
  assert.deepEqual([total.delivered, total.exhausted, total.expired], [0, 0, 2]);
  const rows = { event: 1, delivery: 2, outcome: 1, attempt: 1, gap: 0, replay: 0, endpoint: 2 };
  assert.deepEqual(await rowsOf(service), rows);
  await service.call('GET', `/api/webhooks/deliveries/${first.id}`, { status: 404 });
  await service.call('POST', `/api/webhooks/deliveries/${first.id}/retry`, { status: 404 });
  await service.call('GET', `/api/webhooks/events/${first.event}`, { status: 404 });
  assert.deepEqual(
    (await service.deliveries(ofPaused)).map(({ id, status }) => [id, status]),
    [[third.id, 'pending']],
  );
  const { data } = await service.call('GET', '/api/health');
  assert.equal(data.oldestUndeliveredSeconds, (2 * day) / 1_000);
  await service.call('POST', `/api/webhooks/endpoints/${paused}/resume`);
  await service.addPost('d');
  await allOver();
  assert.deepEqual(titles().toSorted(), ['a', 'b', 'c', 'c', 'd', 'd']);
});

test('what waits for an earlier change of its record is let go when that is given up', async (t) => {
  const { service, clock, sender, pass, titles } = await start(t);
  await service.addEndpoint({ order: 'record', schedule: [604_800, 604_800, 604_800, 604_800, 604_800] });
  sender().answer = { kind: 'status', status: 404, cause: 'Status 404.' };
  const { id } = await service.addPost('a');
  for (const failures of [1, 2, 3, 4, 5]) {
    await eventually('a failure', async () => {
      service.look();
      return (await service.deliveries())[0].attempts.length === failures;
    });
    // A week, with its jitter.
    await pass(failures === 5 ? 0.5 : 9);
  }
  await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'b' } });
  await eventually('it waits', async () => {
    service.look();
    return (await rowsOf(service))['outcome'] === 2;
  });
  sender().answer = answers.ok;
  const woken: string[] = [];
  const wake = (id: string): void => {
    woken.push(id);
    service.app.data.wakeUp.notify(id);
  };
  await janitorOf(service, { days: 30, clock, wake }).tidy();
  assert.equal(woken.length, 1);
  await eventually('it is sent', () => titles().length === 6);
  assert.deepEqual(titles(), ['a', 'a', 'a', 'a', 'a', 'b']);
  assert.deepEqual(givenUp(service), [1]);
});

test(
  'a change that waits for one whose end it could not see is let go within the hour',
  { skip },
  async (t) => {
    const { service, sender, tidy, titles } = await start(t);
    await service.addEndpoint({ order: 'record', schedule: [604_800] });
    sender().answer = { kind: 'status', status: 404, cause: 'Status 404.' };
    const { id } = await service.addPost('a');
    await service.delivery('a failure', ({ attempts }) => attempts.length === 1);
    for (const title of ['b', 'c'])
      await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title } });
    await eventually('they wait', async () => (await rowsOf(service))['outcome'] === 3);
    await tidy();
    // As a transaction would that cannot see yet that something waits.
    await service.withInstance('default', ({ database }) =>
      database.write((tx) =>
        tx.run(sql`
        UPDATE ${tx.names.table('$outcome')} SET status = 'cancelled', due = NULL
        WHERE ${tx.names.instance.condition} AND attempts = 1`),
      ),
    );
    sender().answer = answers.ok;
    await tidy();
    await eventually('all is sent', () => titles().length === 3);
    assert.deepEqual(titles(), ['a', 'b', 'c']);
  },
);

for (const order of ['record', 'strict'])
  test(`an attempt that fails when its delivery was given up meanwhile holds nothing up (order ${order})`, async (t) => {
    const { service, sender, pass, tidy, titles, sent, allOver } = await start(t);
    await service.addEndpoint({ order, schedule: [604_800] });
    sender().answer = undefined;
    const { id } = await service.addPost('a');
    await sent(1);
    await pass(31);
    await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'b' } });
    await tidy();
    const [late] = sender().given;
    assert.ok(late);
    sender().end([late], { kind: 'status', status: 404, cause: 'Status 404.' });
    await sent(2);
    assert.deepEqual(titles(), ['a', 'b']);
    sender().succeed(sender().given.slice(1));
    await allOver();
    const { event, delivery, outcome } = await rowsOf(service);
    assert.deepEqual([event, delivery, outcome], [1, 1, 1]);
    const { data } = await service.call('GET', '/api/health');
    assert.equal(data.oldestUndeliveredSeconds, 0);
  });

test('a reader of the feed that was at its end goes on when all before is gone, and one that was not is told', async (t) => {
  const { service, pass, tidy } = await start(t);
  const read = (query: string, status = 200): Promise<Json> =>
    service.call('GET', `/api/webhooks/feed?${query}`, { status });
  const titlesOf = ({ items }: Json): readonly string[] =>
    listOf(items).map(({ payload }) => payload.data.title);
  const readAll = (query: string, count: number): Promise<Json> =>
    eventually(`${count} events`, async () => {
      const feed = await read(query);
      return feed.items.length === count ? feed : undefined;
    });
  const consumer = (name: string): string => `/api/webhooks/consumers/${name}`;
  for (const title of ['a', 'b', 'c']) await service.addPost(title);
  const { nextCursor: middle } = await readAll('perPage=2', 2);
  const { nextCursor: end } = await readAll('', 3);
  await service.call('PUT', consumer('slow'), { body: { cursor: middle } });
  await service.call('PUT', consumer('quick'), { body: { cursor: end } });
  await pass(31);
  await tidy();
  await service.addPost('d');
  for (const query of [`cursor=${end}`, 'consumer=quick', ''])
    assert.deepEqual(titlesOf(await readAll(query, 1)), ['d']);
  for (const query of [`cursor=${middle}`, 'consumer=slow']) await read(query, 400);
  for (const name of ['slow', 'quick']) assert.equal((await service.call('GET', consumer(name))).lag, 1);
  await service.call('PUT', consumer('slow'), { body: { cursor: end } });
  assert.deepEqual(titlesOf(await readAll('consumer=slow', 1)), ['d']);
});

test('a replay goes on with what is left of its range, and ends', async (t) => {
  const { service, clock, pass, tidy, titles, sent, allOver } = await start(t);
  const { id: endpoint } = await service.addEndpoint();
  for (const title of ['a', 'b', 'c']) await service.addPost(title);
  await sent(3);
  await pass(29);
  await service.addPost('d');
  await sent(4);
  await allOver();
  const body = { scope: 'all', rate: 1 };
  const path = `/api/webhooks/endpoints/${endpoint}/replay`;
  const { id, total } = await service.call('POST', path, { body });
  assert.equal(total, 4);
  await sent(5);
  await allOver();
  await tidy(28);
  const over = await eventually('the end', async () => {
    clock.move(1_000);
    service.look();
    const replay = await service.call('GET', `/api/webhooks/replays/${id}`);
    return replay.state === 'running' ? undefined : replay;
  });
  await allOver();
  assert.deepEqual([over.state, over.taken], ['done', 2]);
  assert.deepEqual(titles(), ['a', 'b', 'c', 'd', 'a', 'd']);
  assert.equal((await service.call('POST', path, { body: { ...body, dryRun: true } })).total, 1);
});

test('a deleted endpoint is known for as long as the log names it, also when the clock was set back', async (t) => {
  const { service, clock, pass, tidy, allOver } = await start(t);
  const { id: kept } = await service.addEndpoint();
  const { id: deleted } = await service.addEndpoint({ status: 'paused' });
  await service.addPost('a');
  await eventually(
    'one is sent',
    async () => (await service.deliveries("status = 'delivered'")).length === 1,
  );
  clock.move(-3_600_000);
  await service.signIn();
  await service.call('DELETE', `/api/webhooks/endpoints/${deleted}`, { status: 204 });
  const list = async (): Promise<readonly unknown[]> =>
    (await service.deliveries()).map(({ endpoint, status }) => `${endpoint} ${status}`).toSorted();
  const all = [`${kept} delivered`, `${deleted} cancelled`].toSorted();
  assert.deepEqual(await list(), all);
  await tidy();
  assert.deepEqual(await list(), all);
  await pass(31);
  await service.addPost('b');
  await allOver();
  await tidy();
  assert.deepEqual(await list(), [`${kept} delivered`]);
  const rows = { event: 1, delivery: 1, outcome: 1, attempt: 1, gap: 0, replay: 0, endpoint: 1 };
  assert.deepEqual(await rowsOf(service), rows);
});

test('each instance is looked at once an hour, and one that cannot be opened keeps no other from it', async (t) => {
  const { service } = await start(t);
  const [entry] = service.app.data.directory.all();
  assert.ok(entry);
  const borrowed: string[] = [];
  let [nowMs, returned] = [0, 0];
  const borrow: JanitorOptions['borrow'] = async (id) => {
    borrowed.push(id);
    if (id === 'broken') throw new Error('its file is gone');
    if (id === 'unknown') return undefined;
    const loan = await service.app.data.instances.borrow(entry);
    return {
      instance: { ...loan.instance, id },
      release: () => {
        returned += 1;
        loan.release();
      },
    };
  };
  const janitor = janitorOf(service, {
    days: 30,
    clock: { now: () => nowMs, monotonic: () => nowMs },
    instances: () => ['broken', 'unknown', 'foreign', 'own'],
    owns: (id) => id !== 'foreign',
    borrow,
  });
  await janitor.tidy();
  assert.deepEqual(borrowed.splice(0), ['broken', 'unknown', 'own']);
  const warnings = service.log.filter(({ level }) => level === 'warn');
  assert.deepEqual(
    warnings.map(({ message, members }) => [message, members['instance']]),
    [['The log of webhooks of an instance could not be trimmed.', 'broken']],
  );
  nowMs += 3_599_999;
  await janitor.tidy();
  assert.deepEqual(borrowed, []);
  nowMs += 1;
  await janitor.tidy();
  assert.deepEqual(borrowed.splice(0), ['broken', 'unknown', 'own']);
  assert.equal(returned, 2);
  nowMs += 3_600_000;
  await janitor.stop();
  await janitor.tidy();
  assert.deepEqual(borrowed, []);
});
