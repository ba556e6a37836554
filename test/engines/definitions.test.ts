import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startApp } from '../../src/app.ts';
import { saveAccountRow } from '../../src/auth/account-rows.ts';
import { signInWithOneTimePassword } from '../../src/auth/one-time-password.ts';
import { createCollection, updateCollection } from '../../src/definitions/change-collection.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { valueOf } from '../../src/records/record.ts';
import { readCurrentCollection } from '../../src/instances/current-collection.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Reader } from '../../src/storage/database.ts';
import { openPostgresHome } from '../../src/storage/postgres/home.ts';
import { loopbackRanges } from '../../src/network/address-guard.ts';
import { createEndpoint } from '../../src/deliveries/endpoints/change-endpoint.ts';
import { atEnd } from '../support/at-end.ts';
import { type CountingProxy, startCountingProxy } from '../support/counting-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { ask, openTestPostgres } from '../support/postgres.ts';
import { Receiver } from '../support/receiver.ts';
import { createRecord } from '../support/write-records.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';

// What a process remembers of definitions, while it reads and changes them over several connections of PostgreSQL.

const share = { instance: 'a', address: '' };
const key = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';

test('an endpoint that was read before its creation was answered is told of each event once', async (t) => {
  const { instance, proxy, url, stop } = await startBehindProxy(t);
  await using receiver = await Receiver.open();
  const release = proxy.holdAnswersTo('COMMIT');
  const policy = { allowHttp: true, allowed: loopbackRanges };
  const creating = createEndpoint(instance, { url: receiver.url }, policy);
  const endpoints = 'SELECT id FROM chancery.endpoint';
  await eventually('it is committed', async () => (await ask(url, endpoints)).length === 1);
  await instance.refresh();
  release();
  const { id } = await creating;
  await createRecord(instance, ruleInputOfCaller({ kind: 'guest' }), { collection: 'posts', body: {} });
  const deliveries = await ask(url, `SELECT endpoint FROM ${storedDeliveries.postgres}`);
  assert.deepEqual(
    deliveries.map(({ endpoint }) => endpoint),
    [id],
  );
  await stop();
});

test('a change is not forgotten for what was read before it', async (t) => {
  const url = await (await openTestPostgres()).createDatabase();
  const home = await openPostgresHome({ url });
  atEnd(t, () => home.stop());
  const insert = sql`INSERT INTO chancery.instance (id, slug, created) VALUES ('one', 'one', '')`;
  await home.control.write((tx) => tx.run(insert));
  let remembered = '';
  let all: string[] = [];
  let isHolding = true;
  const held: (() => void)[] = [];
  const read = async (reader: Reader): Promise<() => void> => {
    const [row] = await reader.tuples(sql`SELECT slug FROM chancery.instance WHERE id = 'one'`);
    if (isHolding) await new Promise<void>((resolve) => held.push(resolve));
    return () => {
      remembered = String(row?.[0]);
      all.push(remembered);
    };
  };
  const database = await home.openInstance('one', { read });
  atEnd(t, () => database.stop());
  const isHeld = (): Promise<boolean> => eventually('the old one is read', () => held.length === 1);
  const look = (): Promise<boolean> => home.refresh('one').then(() => false);
  // Who asks while another reads gets a look of its own, which finds nothing out of date; unless it asked too late.
  let last = Promise.resolve(false);
  for (let isLast = false; !isLast;) {
    await ask(url, `UPDATE chancery.instance SET version = nextval('chancery.version') WHERE id = 'one'`);
    const first = look();
    await isHeld();
    last = look();
    await ask(url, 'SELECT 1');
    held.shift()?.();
    await first;
    isLast = await Promise.race([last, isHeld()]);
  }
  await database.write(
    async (tx) => {
      await tx.run(sql`UPDATE chancery.instance SET slug = 'two' WHERE id = 'one'`);
      tx.afterCommit(() => (remembered = 'two'));
    },
    { isExclusive: true },
  );
  all = [];
  isHolding = false;
  held.shift()?.();
  await last;
  assert.equal(remembered, 'two');
  assert.deepEqual(all, ['two'], 'not even for a moment');
});

test('what is read while its definition is changed is read again, and by that of others only once', async (t) => {
  const { instance, stop } = await startBehindProxy(t);
  const { database, collections } = instance;
  const change = { database, collections, now: Date.now() + 1 };
  await createCollection(change, { name: 'others', fields: [] });
  for (const [name, reads] of [
    ['posts', ['', null]],
    ['others', [null]],
  ] as const) {
    const seen: (string | null)[] = [];
    await readCurrentCollection(instance, 'posts', async ({ rules }) => {
      seen.push(rules.createRule);
      if (seen.length === 1) await updateCollection(change, name, { createRule: null });
      // As when another node has changed something.
      await instance.refresh();
    });
    assert.deepEqual(seen, reads);
  }
  await stop();
});

test('a code that is used up signs in, though another node changes a definition in that moment', async (t) => {
  const { instance, proxy, url, stop } = await startBehindProxy(t);
  const { database, collections } = instance;
  // It has some.
  const onTokenSecrets = () => Promise.resolve();
  const change = { database, collections, now: Date.now(), onTokenSecrets };
  const definition = { authRule: "email != ''", otp: { enabled: true } };
  const { id: collectionRef } = await updateCollection(change, 'users', definition);
  const email = 'anna@example.com';
  const account = { email, password: 'correct horse', passwordConfirm: 'correct horse' };
  const superuser = ruleInputOfCaller({ kind: 'superuser', id: '' });
  const record = await createRecord(instance, superuser, { collection: 'users', body: account });
  const [id, password] = ['aaaaaaaaaaaaaaa', '12345678'];
  const code = {
    companion: collections.get('_otps'),
    account: { collectionRef, recordRef: String(valueOf(record, 'id')) },
    body: { id, password, sentTo: email },
    hashes: new Map([['password', await instance.passwords.hash(password, share)]]),
    rowsMax: 1,
  };
  await database.write((tx) => saveAccountRow(tx, instance, code));
  const input = { ...ruleInputOfCaller({ kind: 'guest' }), body: { otpId: id, password } };
  const release = proxy.holdAnswersTo('COMMIT');
  const signingIn = signInWithOneTimePassword(instance, input, {
    collection: 'users',
    address: new Uint8Array(4),
  });
  const codes = `SELECT id FROM ${database.names.collectionTable('_otps').text}`;
  await eventually('it is used up', async () => (await ask(url, codes)).length === 0);
  await ask(url, "UPDATE chancery.instance SET version = nextval('chancery.version')");
  release();
  assert.equal((await signingIn).kind, 'signed in');
  await stop();
});

test('what is asked of an instance that is gone is refused at once', async (t) => {
  const { instance, proxy, url, stop } = await startBehindProxy(t);
  const { database } = instance;
  await ask(url, 'DELETE FROM chancery.instance');
  const before = proxy.statements;
  const posts = database.names.collectionTable('posts');
  const request = { collection: 'posts', body: {} };
  await assert.rejects(createRecord(instance, ruleInputOfCaller({ kind: 'guest' }), request), {
    code: 'not_found',
  });
  await assert.rejects(database.search(sql`SELECT * FROM ${posts}`), { code: 'not_found' });
  assert.ok(proxy.statements - before < 100);
  await stop();
});

interface Stage {
  readonly instance: Instance;
  readonly proxy: CountingProxy;
  readonly url: string;
  /** While the proxy still stands. */
  readonly stop: () => Promise<void>;
}

/** A server with a collection that anybody may write; what it says to PostgreSQL goes through the proxy. */
async function startBehindProxy(t: TestContext): Promise<Stage> {
  const url = await (await openTestPostgres()).createDatabase();
  const proxied = new URL(url);
  const proxy = await startCountingProxy(t, Number(proxied.port));
  proxied.port = String(proxy.port);
  const flags = { postgres: proxied.href, port: '0', dev: true, 'log-level': 'error' };
  const app = await startApp(readConfig(flags, { CHANCERY_KEY: key }));
  const entry = app.data.directory.findBySlug('default');
  assert.ok(entry);
  const loan = await app.data.instances.borrow(entry);
  const { instance } = loan;
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    loan.release();
    return (stopped ??= app.stop());
  };
  t.after(stop);
  const change = { database: instance.database, collections: instance.collections, now: Date.now() };
  await createCollection(change, { name: 'posts', createRule: '', fields: [] });
  return { instance, proxy, url, stop };
}
