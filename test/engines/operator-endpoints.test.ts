// Both engines: whether a change applies is decided by conditions on rows.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { newId } from '../../src/base/ids.ts';
import { appendOperatorEvent } from '../../src/instances/operator-events.ts';
import { openDataDirectory } from '../../src/open-data-directory.ts';
import type { OperatorControl } from '../../src/operator/operator-control.ts';
import { OperatorDispatcher } from '../../src/operator/operator-dispatcher.ts';
import { OperatorEndpointStore } from '../../src/operator/operator-endpoint-store.ts';
import {
  createOperatorEndpoint,
  deleteOperatorEndpoint,
  listOperatorEndpoints,
  updateOperatorEndpoint,
} from '../../src/operator/operator-endpoints.ts';
import { abortedResult } from '../../src/sending/attempt-result.ts';
import { openSender } from '../../src/sending/sender.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyDatabase } from '../support/faulty-database.ts';
import { logInto } from '../support/log-into.ts';
import { operatorOf } from '../support/operator-stage.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { testConfig } from '../support/test-config.ts';

interface Stage {
  readonly operator: OperatorControl;
  readonly store: OperatorEndpointStore;
  /** That of another process. */
  readonly other: OperatorEndpointStore;
  readonly id: string;
}

/** An endpoint that an event waits for, in data that no server sends from. */
async function startStage(t: TestContext, body: object = {}): Promise<Stage> {
  const data = await openDataDirectory(await testConfig(temporaryFolder(t)), { logger: logInto([]) });
  t.after(() => data.stop());
  const operator = operatorOf({ app: { data } });
  const create = { url: 'https://example.com/hook', ...body };
  const { id } = await createOperatorEndpoint(operator, create, 'operator');
  await happen(operator);
  const { database, sealer } = operator;
  const [store, other] = [0, 1].map(() => new OperatorEndpointStore(database, sealer, data.dueClock));
  assert.ok(store && other);
  return { operator, store, other, id: String(id) };
}

function happen({ database }: OperatorControl): Promise<void> {
  const event = { kind: 'instance.suspended', instance: newId(), data: { slug: 'acme' } } as const;
  return database.write((tx) => appendOperatorEvent(tx, event, '2026-11-20 09:35:20.114Z'));
}

const failed = { ...abortedResult(0, 'It failed.'), deliveryId: 'a-b', kind: 'timeout' } as const;

test('an endpoint is held by one process at a time, which alone moves it', async (t) => {
  const { operator, store, other, id } = await startStage(t);
  assert.deepEqual(await store.readDue(), [id]);
  const claimed = await store.claim(id);
  assert.ok(claimed);
  const { event } = await store.readNext(claimed);
  assert.ok(event);
  const accepted = { position: event.position, status: 200 };
  if (operator.database.names.isConcurrent) {
    assert.deepEqual(await other.readDue(), []);
    assert.equal(await other.claim(id), undefined);
  }
  assert.equal(await other.settle(claimed, accepted), undefined);
  await other.release(claimed);
  await other.postpone(claimed, { result: failed, now: 0, random: 0 });
  assert.equal((await store.get(id)).attempts, 0);
  const settled = await store.settle(claimed, accepted);
  assert.deepEqual([settled?.after, settled?.lastStatus], [event.position, 200]);
  // From the position that it was at before.
  assert.equal(await store.settle(claimed, { position: 0, status: 500 }), undefined);
  assert.ok(settled);
  await store.release(settled);
  await happen(operator);
  assert.deepEqual(await other.readDue(), [id]);
  assert.ok(await other.claim(id));
});

test('a change of the events meanwhile is not passed over, and a deleted endpoint is left alone', async (t) => {
  const { operator, store, id } = await startStage(t, { events: ['quota.*'] });
  const claimed = await store.claim(id);
  assert.ok(claimed);
  const { event, newest } = await store.readNext(claimed);
  assert.equal(event, undefined);
  const body = { events: ['instance.*'] };
  await updateOperatorEndpoint(operator, { id, body, actor: 'operator' });
  await store.passOver(claimed, newest);
  const again = await store.claim(id);
  assert.ok(again);
  assert.equal((await store.readNext(again)).event?.kind, 'instance.suspended');
  await deleteOperatorEndpoint(operator, { id, actor: 'operator' });
  assert.equal(await store.settle(again, { position: newest, status: 200 }), undefined);
  assert.deepEqual(await store.readDue(), []);
});

test('a failure of the URL before a change is not one of the URL after it, and an aborted attempt is none', async (t) => {
  const { operator, store, id } = await startStage(t);
  const first = await store.claim(id);
  assert.ok(first);
  await store.postpone(first, { result: { ...failed, kind: 'aborted' }, now: 0, random: 0 });
  const aborted = await store.get(id);
  assert.deepEqual([aborted.attempts, aborted.due, aborted.failingSince], [0, 0, '']);
  const claimed = await store.claim(id);
  assert.ok(claimed);
  const body = { url: 'https://example.com/other' };
  await updateOperatorEndpoint(operator, { id, body, actor: 'operator' });
  await store.postpone(claimed, { result: failed, now: 0, random: 0 });
  const { attempts, due, failingSince } = await store.get(id);
  assert.deepEqual([attempts, due, failingSince], [0, 0, '']);
  assert.deepEqual(await store.readDue(), [id]);
});

test('nobody takes a paused endpoint, and no list shows a secret', async (t) => {
  const { operator, store, id } = await startStage(t, { status: 'paused' });
  assert.deepEqual(await store.readDue(), []);
  assert.equal(await store.claim(id), undefined);
  const [endpoint] = await listOperatorEndpoints(operator);
  assert.ok(endpoint);
  const names = Object.keys(endpoint).filter((name) => /secret/i.test(name));
  assert.deepEqual(names, ['previousSecretUntil']);
});

test('a result that cannot be written is written later, and its event is not sent again', async (t) => {
  await using receiver = await Receiver.open();
  const { operator, id } = await startStage(t, { url: receiver.url });
  await happen(operator);
  const { database, sealer, clock, policy } = operator;
  const faulty = new FaultyDatabase(database);
  const store = new OperatorEndpointStore(faulty, sealer, clock);
  const log: string[] = [];
  const logger = logInto(log);
  const sender = openSender({ policy, clock, logger });
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  receiver.mode = { kind: 'held', until };
  const dispatcher = new OperatorDispatcher({ store, sender, clock, logger });
  dispatcher.start();
  t.after(() => dispatcher.stop(0));
  await receiver.waitForRequests(1);
  faulty.canWrite = false;
  receiver.mode = { kind: 'ok' };
  release();
  await eventually('it was tried twice', () => faulty.refusedCount >= 2);
  faulty.canWrite = true;
  await receiver.waitForRequests(2);
  await eventually('both are settled', async () => {
    const { after, attempts } = await store.get(id);
    return after === (await store.bounds()).newest && attempts === 0;
  });
  const sent = receiver.requests.map(({ headers }) => headers['webhook-id']);
  assert.deepEqual([sent.length, new Set(sent).size], [2, 2]);
  assert.match(log.join(), /^warn: A result of the operator's webhooks could not be written; retrying\./);
  assert.equal(log.length, 1);
});

test('of endpoints that are made at once there are no more than the limit', async (t) => {
  const { operator } = await startStage(t);
  const body = { url: 'https://example.com/hook', status: 'paused' };
  const made = await Promise.allSettled(
    Array.from({ length: 25 }, () => createOperatorEndpoint(operator, body, 'operator')),
  );
  assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 19);
  assert.equal((await operator.endpoints.all()).length, 20);
});
