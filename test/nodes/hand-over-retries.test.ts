import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { App } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/postgres.ts';
import { NodeGroup, posts } from './node-group.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';

const records = '/api/collections/posts/records';

interface Held {
  readonly group: NodeGroup;
  readonly a: App;
  /** The path of the delivery whose first attempt is on its way from A. */
  readonly delivery: string;
  /** Lets that attempt be answered; the receiver takes everything else. */
  end(): void;
  /** Gives everything to a second node, which it answers, while A waits for its attempt. */
  handOver(): Promise<App>;
}

async function holdAttempt(t: TestContext, status = 500): Promise<Held> {
  const group = await NodeGroup.open(t);
  const a = await group.start();
  await group.signIn(a);
  await group.get(a, 'POST /api/collections', posts);
  // What comes sooner than in an hour was asked for by hand.
  await group.get(a, 'POST /api/webhooks/endpoints', {
    url: group.receiver.url,
    timeoutMs: 30_000,
    schedule: [3_600],
  });
  const { promise: until, resolve: end } = Promise.withResolvers<void>();
  group.receiver.mode = { kind: 'held', until, status };
  await group.get(a, `POST ${records}`, { title: 'first' });
  await group.receiver.waitForRequests(1);
  group.receiver.mode = { kind: 'ok' };
  const { items } = await group.get(a, 'GET /api/webhooks/deliveries');
  const handOver = async (): Promise<App> => {
    const b = await group.start();
    void a.stop();
    await group.divided(b, 1);
    return b;
  };
  return { group, a, delivery: `/api/webhooks/deliveries/${items[0].id}`, end, handOver };
}

/** The attempts that arrived of each record, as the headers number them. */
async function assertTold({ group }: Held, expected: readonly string[]): Promise<void> {
  const told = await eventually('all told', async () => {
    const pending = await ask(
      group.postgres,
      `SELECT 1 FROM ${storedDeliveries.postgres} WHERE status = 'pending'`,
    );
    return (
      pending.length === 0 &&
      group.receiver.requests.map(({ body, headers }) => {
        // webhooks.md section 1: the record's fields are in `data`.
        return `${JSON.parse(body.toString('utf8')).data.title} ${String(headers['x-service-attempt'])}`;
      })
    );
  });
  assert.deepEqual(told, expected);
}

test('a retry that was asked for during an attempt is made after it, though another node has taken over meanwhile', async (t) => {
  const held = await holdAttempt(t);
  await held.group.get(held.a, `POST ${held.delivery}/retry`);
  await held.handOver();
  held.end();
  await assertTold(held, ['first 1', 'first 2']);
});

test('a retry of what is on its way from the owner before is made after that, and not beside it', async (t) => {
  const held = await holdAttempt(t);
  const b = await held.handOver();
  await held.group.get(b, `POST ${held.delivery}/retry`);
  // Whatever B took for due would be sent in one turn with this.
  await held.group.get(b, `POST ${records}`, { title: 'second' });
  await held.group.receiver.waitForRequests(2);
  held.end();
  await assertTold(held, ['first 1', 'second 1', 'first 2']);
});

test('what was cancelled on its way from the owner before, and asked for again, is sent after that', async (t) => {
  const held = await holdAttempt(t);
  const b = await held.handOver();
  await held.group.get(b, `POST ${held.delivery}/cancel`);
  await held.group.get(b, `POST ${held.delivery}/retry`);
  await held.group.get(b, `POST ${records}`, { title: 'second' });
  await held.group.receiver.waitForRequests(2);
  held.end();
  await assertTold(held, ['first 1', 'second 1', 'first 2']);
});

test('what was cancelled on its way from the owner before is sent at once when it is asked for after that', async (t) => {
  const held = await holdAttempt(t);
  const b = await held.handOver();
  await held.group.get(b, `POST ${held.delivery}/cancel`);
  held.end();
  await eventually('its attempt is over', async () => {
    const { attempts } = await held.group.get(b, `GET ${held.delivery}`);
    return attempts.length === 1;
  });
  const { updated, nextAttempt } = await held.group.get(b, `POST ${held.delivery}/retry`);
  assert.ok(nextAttempt <= updated, `${nextAttempt} is after ${updated}`);
  await assertTold(held, ['first 1', 'first 2']);
});

test('work that can be handed over only at a second try is not sent twice', async (t) => {
  const held = await holdAttempt(t, 200);
  await ask(held.group.postgres, failOnce);
  const b = await held.handOver();
  // Whatever B took for due would be sent in one turn with this.
  await held.group.get(b, `POST ${records}`, { title: 'second' });
  await held.group.receiver.waitForRequests(2);
  held.end();
  await assertTold(held, ['first 1', 'second 1']);
  assert.match(held.group.log.join(), /Reading the shard leases failed; retrying/);
});

/** Of the transactions that take a node off the list, the first fails. What a sequence has counted is not rolled back. */
const failOnce = `
  CREATE SEQUENCE chancery.tries;
  CREATE FUNCTION chancery.fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('chancery.tries') = 1 THEN RAISE EXCEPTION 'not yet'; END IF;
      RETURN OLD;
    END $$;
  CREATE TRIGGER fail_once BEFORE DELETE ON chancery.node FOR EACH ROW EXECUTE FUNCTION chancery.fail_once()`;
