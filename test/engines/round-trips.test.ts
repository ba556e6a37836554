import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { startApp } from '../../src/app.ts';
import { issueToken } from '../../src/auth/tokens.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { withAuthCollection } from '../../src/auth/auth-collection.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { prepareBatch, runBatch } from '../../src/records/batch.ts';
import { listRecords } from '../../src/records/list-records.ts';
import { readRecord } from '../../src/records/read-record.ts';
import { valueOf } from '../../src/records/record.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { abortedResult } from '../../src/sending/attempt-result.ts';
import { createEndpoint, setEndpointStatus } from '../../src/deliveries/endpoints/change-endpoint.ts';
import { readPendings, sendAnyway } from '../../src/deliveries/deliveries.ts';
import { LaneSource } from '../../src/dispatch/lane-source.ts';
import { afterAttempt, soleOwnership } from '../../src/deliveries/delivery.ts';
import { settle } from '../../src/dispatch/settle.ts';
import { atEnd } from '../support/at-end.ts';
import { startCountingProxy } from '../support/counting-proxy.ts';
import { startTestPostgres, type TestPostgres } from '../support/postgres.ts';
import { createRecord, deleteRecord, updateRecord } from '../support/write-records.ts';

const input = ruleInputOfCaller({ kind: 'guest' });
const key = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';

interface Opened {
  readonly instance: Instance;
  readonly url: string;
  /** What a work costs. The least of many tries: looks of the background go through the same proxy. */
  readonly cost: (work: () => Promise<unknown>) => Promise<Cost>;
}

interface Cost {
  readonly statements: number;
  readonly roundTrips: number;
}

test('on PostgreSQL the statements and round trips of each path are these', async (t) => {
  const { instance, cost } = await open(t);
  const create = async (): Promise<string> =>
    String(valueOf(await createRecord(instance, input, { collection: 'posts', body: { title: 'x' } }), 'id'));
  const together = (count: number): Promise<string[]> => Promise.all(Array.from({ length: count }, create));
  const id = await create();
  let count = 0;
  const title = (): { readonly title: string } => ({ title: `title ${(count += 1)}` });
  // BEGIN, the lock, the version · the record · the event with its delivery | COMMIT
  assert.deepEqual(await cost(create), { statements: 6, roundTrips: 2 });
  // As one of them: rows are inserted at once, and so are events with their deliveries.
  assert.deepEqual(await cost(() => together(20)), { statements: 6, roundTrips: 2 });
  // The record, and the version of the definitions behind it.
  const view = { statements: 2, roundTrips: 1 };
  assert.deepEqual(await cost(() => readRecord(instance, input, { collection: 'posts', id })), view);
  const several = await together(20);
  const readAll = (): Promise<unknown> =>
    Promise.all(several.map((one) => readRecord(instance, input, { collection: 'posts', id: one })));
  assert.deepEqual(await cost(readAll), view);
  const list = (filter: string): Promise<unknown> => {
    const query = new URLSearchParams({ filter });
    return listRecords(instance, input, { collection: 'posts', query });
  };
  const listNew = (): Promise<unknown> => {
    count += 1;
    return Promise.all(several.map((_, n) => list(`title = 'title ${count} of ${n % 2}'`)));
  };
  // Two different lists at the same time, each with its total and the version of the definitions behind it.
  assert.deepEqual(await cost(listNew), { statements: 4, roundTrips: 2 });
  const update = (): Promise<unknown> =>
    updateRecord(instance, input, { collection: 'posts', id, body: title() });
  // BEGIN, the lock, the version, the record as it is | the record · the event with its delivery | COMMIT
  assert.deepEqual(await cost(update), { statements: 7, roundTrips: 3 });
  const updateAll = (): Promise<unknown> =>
    Promise.all(
      several.map((one) => updateRecord(instance, input, { collection: 'posts', id: one, body: title() })),
    );
  // As one of them.
  assert.deepEqual(await cost(updateAll), { statements: 7, roundTrips: 3 });
  const ids = await together(tries);
  const remove = (): Promise<void> =>
    deleteRecord(instance, input, { collection: 'posts', id: ids.pop() ?? '' });
  // As an update.
  assert.deepEqual(await cost(remove), { statements: 7, roundTrips: 3 });
});

test('on PostgreSQL a batch costs two statements for each create, in three round trips', async (t) => {
  const { instance, cost } = await open(t);
  const item = { kind: 'create', collection: 'posts', body: { title: 'x' } } as const;
  const batch = async (): Promise<unknown> => {
    const prepared = await prepareBatch(
      instance,
      Array.from({ length: 20 }, () => ({ item, input })),
    );
    return instance.database.write((tx) => runBatch(instance, tx, prepared));
  };
  // BEGIN, the lock, the version, the records · an event with its delivery for each | COMMIT
  assert.deepEqual(await cost(batch), { statements: 3 + 20 + 20 + 1, roundTrips: 2 });
});

test('on PostgreSQL a batch is refused for its first locked item, whatever comes behind it', async (t) => {
  const { instance, cost } = await open(t);
  const { collections, database } = instance;
  await createCollection({ collections, database, now: Date.now() }, { name: 'locked' });
  const item = { kind: 'create', collection: 'locked', body: {} } as const;
  const refused = async (count: number): Promise<void> => {
    const items = Array.from({ length: count }, () => ({ item, input }));
    const prepared = await prepareBatch(instance, items);
    await assert.rejects(
      instance.database.write((tx) => runBatch(instance, tx, prepared)),
      /^BatchItemFailed: Item 0 /,
    );
  };
  assert.deepEqual(await cost(() => refused(20)), await cost(() => refused(1)));
});

test('on PostgreSQL one delivery is claimed and settled by 10 statements in 4 round trips, and so are 20', async (t) => {
  const { instance, cost } = await open(t);
  const { database } = instance;
  const [endpoint] = await instance.endpoints.all(database);
  assert.ok(endpoint);
  const source = new LaneSource(0, database.names);
  const deliver = async (limit: number): Promise<void> => {
    await source.read(database, { endpoint: endpoint.number, now: Date.now(), safe: 0 });
    const keys = Array.from({ length: limit }, () => {
      const due = source.take(true);
      assert.ok(due);
      return { event: due.event, endpoint: endpoint.number };
    });
    const pendings = await readPendings(database, {
      keys,
      policyOf: () => sendAnyway,
      instance,
      now: Date.now(),
    });
    assert.equal(pendings.length, limit);
    const success = { ...abortedResult(0, ''), isSuccess: true, kind: 'success', status: 200 } as const;
    const settlements = pendings.map(({ id, key, state }) => {
      const context = { now: Date.now(), schedule: [], random: 0 };
      const result = { ...success, deliveryId: id };
      return {
        key,
        after: afterAttempt(state, result, context),
        result,
        record: '',
        isOrdered: false,
        due: state.due,
        postponedUntil: undefined,
        isFenced: true,
        committedAt: 0,
        batch: undefined,
      };
    });
    await database.write(
      (tx) => settle(tx, settlements, { now: Date.now(), fence: soleOwnership.fence('') }),
      {
        findsByKey: true,
      },
    );
  };
  const posts = tries * 21;
  await Promise.all(
    Array.from({ length: posts }, () => createRecord(instance, input, { collection: 'posts', body: {} })),
  );
  // What is due | the rows | BEGIN, the lock, the version, the new states, the attempts, the statistics | COMMIT
  assert.deepEqual(await cost(() => deliver(1)), { statements: 10, roundTrips: 4 });
  assert.deepEqual(await cost(() => deliver(20)), { statements: 10, roundTrips: 4 });
});

test('on PostgreSQL a view with a token reads the key of the token and then the record', async (t) => {
  const { instance, url, cost } = await open(t);
  const id = String(
    valueOf(await createRecord(instance, input, { collection: 'posts', body: { title: 'x' } }), 'id'),
  );
  const headers = { authorization: await signedUp(instance, 'ann') };
  const view = async (): Promise<void> => {
    const response = await fetch(`${url}/api/collections/posts/records/${id}`, { headers });
    assert.equal(response.status, 200, await response.text());
  };
  // The record with the version of the definitions behind it.
  assert.deepEqual(await cost(view), { statements: 3, roundTrips: 2 });
});

const tries = 10;

let own: Promise<TestPostgres> | undefined;

/** Of this file alone: whatever other tests write on a server makes their neighbours look again. */
function ownServer(): Promise<TestPostgres> {
  own ??= startTestPostgres();
  return own;
}

after(async () => (await own)?.stop());

async function open(t: TestContext): Promise<Opened> {
  const url = new URL(await (await ownServer()).createDatabase());
  const proxy = await startCountingProxy(t, Number(url.port));
  url.port = String(proxy.port);
  const config = readConfig(
    { postgres: url.href, port: '0', dev: true, 'log-level': 'error' },
    { CHANCERY_KEY: key },
  );
  const app = await startApp(config);
  atEnd(t, () => app.stop());
  const entry = app.data.directory.findBySlug('default');
  assert.ok(entry);
  const loan = await app.data.instances.borrow(entry);
  atEnd(t, () => loan.release());
  await prepare(loan.instance);
  const cost = async (work: () => Promise<unknown>): Promise<Cost> => {
    let least = { statements: Number.POSITIVE_INFINITY, roundTrips: Number.POSITIVE_INFINITY };
    for (let again = 0; again < tries; again += 1) {
      const { statements, roundTrips } = proxy;
      await work();
      least = {
        statements: Math.min(least.statements, proxy.statements - statements),
        roundTrips: Math.min(least.roundTrips, proxy.roundTrips - roundTrips),
      };
    }
    return least;
  };
  return { instance: loan.instance, url: app.url, cost };
}

/** The token of a new account. */
async function signedUp(instance: Instance, name: string): Promise<string> {
  const body = { email: `${name}@example.com`, password: 'correct horse', passwordConfirm: 'correct horse' };
  const record = await createRecord(instance, input, { collection: 'users', body });
  const id = String(valueOf(record, 'id'));
  return withAuthCollection(instance, 'users', (collection) =>
    issueToken(instance, { collection, id, kind: 'authToken' }),
  );
}

/** A collection for everybody, and an endpoint that wants all of it and is sent nothing. */
async function prepare(instance: Instance): Promise<void> {
  await upsertSuperuser(instance, 'root@example.com', 'correct horse');
  const rules = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
  const change = { database: instance.database, collections: instance.collections, now: Date.now() };
  await createCollection(change, { name: 'posts', ...rules, fields: [{ name: 'title', type: 'text' }] });
  const body = { url: 'https://receiver.example.com/' };
  const endpoint = await createEndpoint(instance, body, { allowHttp: false, allowed: [] });
  await setEndpointStatus(instance, endpoint.id, 'paused');
}
