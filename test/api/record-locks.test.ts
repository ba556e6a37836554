// Both engines: each locks in its own way.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { operator } from '../../src/access/caller.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { insertJob } from '../../src/records/removal-store.ts';
import { findRecordToChange, findRecordToDelete } from '../../src/records/find-record.ts';
import { sql } from '../../src/sql/sql.ts';
import { longId, startBlog } from '../support/blog.ts';
import { eventually } from '../support/eventually.ts';
import { sendBatch, startBatchService } from '../support/send-batch.ts';
import type { TestService } from '../support/service.ts';
import { databaseOf, testEngine } from '../support/test-config.ts';

const skip = testEngine === 'sqlite' ? 'there is one writer' : false;

test('a record is changed while somebody deletes one that it goes on referring to', { skip }, async (t) => {
  const { service, ask } = await startBlog(t);
  const { client, lock } = await openClient(t, service);
  await client.query('BEGIN');
  // As a delete does first.
  await lock('people', longId('ann'));
  const path = `/posts/records/${longId('p1')}`;
  const without = await ask('PATCH', path, { 'readers-': longId('bob') });
  assert.deepEqual(without.json['readers'], [longId('ann')], without.text);
  const withAnother = await ask('PATCH', path, { 'readers+': longId('cat') });
  assert.deepEqual(withAnother.json['readers'], [longId('ann'), longId('cat')], withAnother.text);
  await client.query('ROLLBACK');
});

test('a batch locks the records that it names in one order, whatever its own', { skip }, async (t) => {
  const service = await startBatchService(t);
  await allowLongBatches(service);
  const at = '/api/collections/posts/records';
  const ids = ['a', 'b'].map(longId);
  for (const id of ids) await service.request(at, { method: 'POST', body: { id, title: '' } });
  const { client, lock } = await openClient(t, service);
  await client.query('BEGIN');
  await lock('posts', longId('a'));
  const requests = ids.map((id) => ({ method: 'PATCH', url: `${at}/${id}`, body: { title: 'changed' } }));
  const batch = sendBatch(service, requests.toReversed());
  await waiting(client, 1);
  // It has none yet: one that did would have to give up, or this one.
  await lock('posts', longId('b'), 'NOWAIT');
  await client.query('ROLLBACK');
  const { status, text } = await batch;
  assert.equal(status, 200, text);
});

test(
  'A25 a delete that waits for a step of another one of the same record is refused',
  { skip },
  async (t) => {
    const service = await startBatchService(t, { flags: { 'query-timeout': '0.3' } });
    const at = '/api/collections/posts/records';
    const id = longId('a');
    await service.request(at, { method: 'POST', body: { id, title: '' } });
    const input = ruleInputOfCaller(operator);
    const lease = { holder: 'a/1', until: Number.MAX_SAFE_INTEGER };
    const { client, lock } = await openClient(t, service);
    const remove = async (): Promise<unknown> => {
      await client.query('BEGIN');
      // As a step has it that deletes the record.
      await lock('posts', id);
      const { status, json } = await service.request(`${at}/${id}`, { method: 'DELETE', token: true });
      await client.query('ROLLBACK');
      return [status, json.message];
    };
    assert.deepEqual(await remove(), [503, 'The query took too long.']);
    await service.withInstance('default', (instance) =>
      instance.database.write((tx) => {
        const removed = { collection: instance.collections.get('posts'), record: id, lease };
        return insertJob(tx, { instance, input }, removed);
      }),
    );
    assert.deepEqual(await remove(), [409, 'The record is being deleted already.']);
  },
);

test('two works that lock the same records in opposite order are both done', { skip }, async (t) => {
  // Less than the second after which the server notices that they wait for each other.
  const service = await startBatchService(t, { flags: { 'query-timeout': '0.3' } });
  const at = '/api/collections/posts/records';
  const ids = ['a', 'b'].map(longId);
  for (const id of ids) await service.request(at, { method: 'POST', body: { id, title: '' } });
  await service.withInstance('default', async ({ collections, database }) => {
    const posts = collections.get('posts');
    for (const find of [findRecordToChange, findRecordToDelete]) {
      const lockBoth = (order: readonly string[]): Promise<unknown> =>
        database.write(async (tx) => {
          const found = [];
          for (const id of order) {
            found.push(await find(tx, posts, id));
            await tx.get(sql`SELECT pg_sleep(0.2)`);
          }
          return found.length;
        });
      assert.deepEqual(await Promise.all([lockBoth(ids), lockBoth(ids.toReversed())]), [2, 2]);
    }
  });
});

test(
  'an upsert makes the record anew that somebody else was deleting when it was looked for',
  { skip },
  async (t) => {
    const service = await startBatchService(t);
    await allowLongBatches(service);
    const url = '/api/collections/posts/records';
    const id = longId('a');
    await service.request(url, { method: 'POST', body: { id, title: 'first' } });
    const { client, erase } = await openClient(t, service);
    await client.query('BEGIN');
    await erase('posts', id);
    const upsert = sendBatch(service, [{ method: 'PUT', url, body: { id, title: 'second' } }]);
    await waiting(client, 1);
    await client.query('COMMIT');
    const { status, text, json } = await upsert;
    assert.equal(status, 200, text);
    assert.equal(json[0].status, 201);
    assert.equal((await service.request(`${url}/${id}`)).json.title, 'second');
  },
);

test('a record that a batch makes anew is there all the time', { skip }, async (t) => {
  const { service, ask } = await startBlog(t);
  await allowLongBatches(service);
  const { client, lock } = await openClient(t, service);
  const people = '/api/collections/people/records';
  const dan = longId('dan');
  const zoe = longId('zoe');
  await ask('POST', '/people/records', { id: zoe });
  const requests = [
    { method: 'DELETE', url: `${people}/${dan}` },
    { method: 'POST', url: people, body: { id: dan, name: 'Daniel' } },
    { method: 'PATCH', url: `${people}/${zoe}`, body: { name: 'Zoe' } },
  ];
  const meanwhile = [
    () => ask('PATCH', `/people/records/${dan}`, { age: 21 }),
    () => ask('POST', '/comments/records', { by: dan }),
    () => ask('DELETE', `/people/records/${dan}`),
  ];
  const statuses: number[] = [];
  for (const change of meanwhile) {
    await client.query('BEGIN');
    await lock('people', zoe);
    const batch = sendBatch(service, requests, { token: true });
    await waiting(client, 1);
    const changed = change();
    await waiting(client, 2);
    await client.query('ROLLBACK');
    const { status, text } = await batch;
    assert.equal(status, 200, text);
    statuses.push((await changed).status);
  }
  assert.deepEqual(statuses, [200, 201, 204]);
});

test('what is not there when a lock has been waited for is not there', { skip }, async (t) => {
  const { service, ask } = await startBlog(t);
  const { client, erase } = await openClient(t, service);
  await client.query('BEGIN');
  await erase('people', longId('dan'));
  const changed = ask('PATCH', `/people/records/${longId('dan')}`, { age: 21 });
  await waiting(client, 1);
  const referring = ask('POST', '/comments/records', { by: longId('dan') });
  await waiting(client, 2);
  await client.query('COMMIT');
  assert.equal((await changed).status, 404);
  assert.equal((await referring).json.data.by.code, 'validation_missing_rel_records');
});

/**
 * Until so many sessions wait for this one, or for one that does. Sessions that wait for others, as those of the service do now and then,
 * say nothing about a request; behind those that are meant there may be some of the service.
 */
async function waiting(client: Client, count: number): Promise<void> {
  const look = `
    WITH RECURSIVE sessions AS MATERIALIZED (
      SELECT pid, pg_blocking_pids(pid) AS blockers, wait_event, query FROM pg_stat_activity WHERE datname = current_database()
    ), behind AS (
      SELECT * FROM sessions WHERE pg_backend_pid() = ANY (blockers)
      UNION SELECT s.* FROM sessions s JOIN behind b ON b.pid = ANY (s.blockers)
    )
    SELECT s.*, b.pid IS NOT NULL AS "isBehind" FROM sessions s LEFT JOIN behind b USING (pid)`;
  const isWaiting = async (): Promise<true> => {
    // A transaction goes on seeing the sessions of its first look, and none that was opened since.
    await client.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await client.query<{ readonly isBehind: boolean }>(look);
    assert.ok(rows.filter(({ isBehind }) => isBehind).length >= count, JSON.stringify(rows));
    return true;
  };
  // No batch waits longer, and while this transaction is open, no log on the server can be read behind it.
  await eventually(`${count} wait`, isWaiting, 20_000);
}

/** Another session, which locks and deletes records as deletes do. */
async function openClient(
  t: TestContext,
  { data }: TestService,
): Promise<{
  readonly client: Client;
  readonly lock: (table: string, id: string, end?: string) => Promise<unknown>;
  readonly erase: (table: string, id: string) => Promise<unknown>;
}> {
  const client = new Client({ connectionString: await databaseOf(data) });
  await client.connect();
  t.after(() => client.end());
  const fullName = async (table: string): Promise<string> => {
    const { rows } = await client.query<{ schema: string }>(
      `SELECT table_schema AS schema FROM information_schema.tables WHERE table_name = $1`,
      [table],
    );
    return `"${rows[0]?.schema}".${table}`;
  };
  return {
    client,
    lock: async (table, id, end = '') =>
      client.query(`SELECT 1 FROM ${await fullName(table)} WHERE id = $1 FOR UPDATE ${end}`, [id]),
    erase: async (table, id) => client.query(`DELETE FROM ${await fullName(table)} WHERE id = $1`, [id]),
  };
}

/** On a busy machine, a batch may not wait for a lock yet when the usual three seconds are over. */
async function allowLongBatches(service: TestService): Promise<void> {
  const body = { batch: { timeout: 10 } };
  const set = await service.request('/api/settings', { method: 'PATCH', token: true, body });
  assert.equal(set.status, 200, set.text);
}
