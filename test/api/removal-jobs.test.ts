// Both engines: deletes follow relations under locks.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { RemovalRunner } from '../../src/records/removal-runner.ts';
import { runStep } from '../../src/records/removal-steps.ts';
import {
  claimJob,
  holdJob,
  insertJob,
  readJob,
  releaseJob,
  saveJob,
} from '../../src/records/removal-store.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { operator } from '../../src/access/caller.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';
import { testEngine } from '../support/test-config.ts';

const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const author = 'author000000001';
const cascade = { cascadeDelete: true };

interface Stage {
  readonly service: TestService;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<TestAnswer>;
  /** Makes as many posts with these values; their ids begin with the letter. */
  readonly fill: (letter: string, count: number, values: (index: number) => object) => Promise<void>;
  readonly total: (collection: string, filter?: string) => Promise<number>;
  /** How many events there are of each kind and collection, and of how many records. */
  readonly events: () => Promise<Readonly<Record<string, readonly [number, number]>>>;
}

async function setUp(t: TestContext, fields: readonly object[]): Promise<Stage> {
  const service = await startService(t);
  const ask = (method: string, path: string, body?: unknown): Promise<TestAnswer> =>
    service.request(`/api/collections${path}`, { method, token: true, body });
  await ask('POST', '', { id: 'authors', name: 'authors', ...open });
  const made = await ask('POST', '', { id: 'posts', name: 'posts', ...open, fields });
  assert.equal(made.status, 200, made.text);
  assert.equal((await ask('POST', '/authors/records', { id: author })).status, 201);
  return {
    service,
    ask,
    fill: async (letter, count, values) => {
      for (let at = 0; at < count; at += 50) {
        const requests = Array.from({ length: Math.min(50, count - at) }, (_, index) => ({
          method: 'POST',
          url: '/api/records/posts',
          body: { id: idOf(letter, at + index), ...values(at + index) },
        }));
        const { status, text } = await service.request('/api/batch', {
          method: 'POST',
          token: true,
          body: { requests },
        });
        assert.equal(status, 200, text);
      }
    },
    total: async (collection, filter = 'id != ""') =>
      (await ask('GET', `/${collection}/records?filter=${encodeURIComponent(filter)}`)).json.totalItems,
    events: () =>
      service.withInstance('default', async ({ database }) => {
        const { names } = database;
        const rows = await database.tuples(sql`
          SELECT kind, collection_name, count(*), count(DISTINCT record) FROM ${names.table('$event')}
          WHERE ${names.instance.condition} AND kind <> 'record.create' GROUP BY kind, collection_name`);
        return Object.fromEntries(
          rows.map(([kind, of, all, records]) => [
            `${String(kind)} ${String(of)}`,
            [Number(all), Number(records)] as const,
          ]),
        );
      }),
  };
}

/** Resolves when a delete is done: where the machine is slow, behind its answer. */
async function deleted({ service }: Stage, { status, text, headers }: TestAnswer): Promise<void> {
  const job = headers.get('location');
  if (status !== 202 || job === null) return assert.equal(status, 204, text);
  await eventually('the job is done', async () => {
    return (await service.request(job, { token: true })).json.state === 'done';
  });
}

function idOf(letter: string, index: number): string {
  return letter + String(index).padStart(14, '0');
}

const relation = { name: 'author', type: 'relation', collectionId: 'authors' };
const parent = { name: 'parent', type: 'relation', collectionId: 'posts' };

test('A25 a record to which more than 1,000 others refer is deleted with them, through several levels, each once', async (t) => {
  const stage = await setUp(t, [
    { ...relation, ...cascade },
    { ...parent, ...cascade },
  ]);
  await stage.fill('a', 1_100, () => ({ author }));
  await stage.fill('b', 300, (index) => ({ parent: idOf('a', index % 7) }));
  await stage.fill('c', 10, () => ({}));
  // A circle, and one that refers to itself.
  await stage.ask('PATCH', `/posts/records/${idOf('a', 0)}`, { parent: idOf('b', 0) });
  await stage.ask('PATCH', `/posts/records/${idOf('a', 1)}`, { parent: idOf('a', 1) });
  await deleted(stage, await stage.ask('DELETE', `/authors/records/${author}`));
  assert.deepEqual([await stage.total('authors'), await stage.total('posts')], [0, 10]);
  const { 'record.delete posts': posts, 'record.delete authors': authors } = await stage.events();
  assert.deepEqual([posts, authors], [[1_400, 1_400], [1, 1]]); // prettier-ignore
});

test('A25 records that only lose a reference are saved without it, however many they are', async (t) => {
  const stage = await setUp(t, [relation, { ...relation, name: 'readers', maxSelect: 3 }]);
  await stage.fill('a', 700, () => ({ author }));
  await stage.fill('b', 700, () => ({ readers: [author], author }));
  await deleted(stage, await stage.ask('DELETE', `/authors/records/${author}`));
  assert.equal(await stage.total('posts', 'author != "" || readers:length > 0'), 0);
  const { 'record.update posts': updates } = await stage.events();
  assert.deepEqual(updates, [1_400, 1_400]);
});

test('A25 nothing is changed where a reference must stay, at the end of all others', async (t) => {
  const stage = await setUp(t, [
    { ...relation, ...cascade },
    { ...parent, required: false },
    { ...parent, name: 'keeps' },
  ]);
  await stage.fill('a', 1_100, () => ({ author }));
  await stage.fill('z', 1, () => ({ keeps: idOf('a', 1_099) }));
  const { json } = await stage.ask('GET', '/posts');
  const before: readonly { readonly name: string }[] = json.fields;
  const fields = before.map((field) => (field.name === 'keeps' ? { ...field, required: true } : field));
  assert.equal((await stage.ask('PATCH', '/posts', { fields })).status, 200);
  const refused = await stage.ask('DELETE', `/authors/records/${author}`);
  assert.equal(refused.status, 400);
  assert.match(refused.json.message, /, as it is in the field keeps of posts\.$/);
  assert.equal(await stage.total('posts'), 1_101);
  assert.deepEqual(await stage.events(), {});
  // Nothing is left behind that would keep records from being referred to.
  assert.equal((await stage.ask('POST', '/posts/records', { author, keeps: idOf('a', 5) })).status, 201);
});

test('A25 a batch does not delete in steps, and If-Match and the rule are asked first', async (t) => {
  const stage = await setUp(t, [{ ...relation, ...cascade }]);
  await stage.fill('a', 1_001, () => ({ author }));
  const requests = [{ method: 'DELETE', url: `/api/records/authors/${author}` }];
  const batch = await stage.service.request('/api/batch', {
    method: 'POST',
    token: true,
    body: { requests },
  });
  assert.equal(batch.status, 400);
  const path = `/api/records/authors/${author}`;
  const headers = { 'if-match': '"7-x"' };
  assert.equal((await stage.service.request(path, { method: 'DELETE', headers })).status, 412);
  await stage.ask('PATCH', '/authors', { deleteRule: 'id = "nobody"' });
  assert.equal((await stage.service.request(path, { method: 'DELETE' })).status, 404);
  assert.equal(await stage.total('posts'), 1_001);
});

test('A25 a delete whose process has died goes on in the next, and meanwhile nothing new may refer to its records', async (t) => {
  const stage = await setUp(t, [{ ...relation, ...cascade }]);
  await stage.fill('a', 450, () => ({ author }));
  const input = ruleInputOfCaller(operator);
  const id = await stage.service.withInstance('default', (instance) =>
    instance.database.write((tx) =>
      insertJob(
        tx,
        { instance, input },
        {
          collection: instance.collections.get('authors'),
          record: author,
          lease: { holder: 'dead/1', until: 0 },
        },
      ),
    ),
  );
  const refused = await stage.ask('POST', '/posts/records', { author });
  assert.equal(refused.json.data.author?.code, 'validation_missing_rel_records');
  const job = await stage.service.request(`/api/jobs/${id}`, { token: true });
  assert.equal(job.status, 200, job.text);
  assert.deepEqual([job.json.state, job.json.found, job.json.deleted], ['checking', 1, 0]);
  assert.equal((await stage.service.request(`/api/jobs/${id}`)).status, 404);
  await stage.service.withInstance('default', async (instance) => {
    const runner = new RemovalRunner({
      borrow: () => Promise.resolve({ instance, release: () => undefined }),
      logger: instance.logger,
    });
    runner.start();
    runner.wake(instance.id);
    await eventually('the job is done', async () => (await readJob(instance.database, id))?.state === 'done');
    await runner.stop();
  });
  assert.deepEqual([await stage.total('authors'), await stage.total('posts')], [0, 0]);
  const { 'record.delete posts': posts } = await stage.events();
  assert.deepEqual(posts, [450, 450]);
});

test('A25 a step that has taken long on SQLite ends after the record that it is at', async (t) => {
  const stage = await setUp(t, [{ ...relation, ...cascade }]);
  await stage.fill('a', 3, () => ({ author }));
  const input = ruleInputOfCaller(operator);
  const progress = await stage.service.withInstance('default', async (instance) => {
    let readMs = 0;
    const monotonic = (): number => (readMs += 1_000);
    const hurried: Instance = Object.create(instance, {
      clock: { value: { now: () => instance.clock.now(), monotonic } },
    });
    const { database, collections } = instance;
    const id = await database.write((tx) =>
      insertJob(
        tx,
        { instance, input },
        { collection: collections.get('authors'), record: author, lease: { holder: 'one/1', until: 0 } },
      ),
    );
    const steps: (readonly [state: string, checked: number, deleted: number])[] = [];
    for (let state = ''; state !== 'done' && steps.length < 20;) {
      const job = await database.write(async (tx) => {
        const before = await readJob(tx, id);
        assert.ok(before);
        const after = await runStep({ instance: hurried, input, tx }, before);
        await saveJob(tx, after, instance.clock.now());
        return after;
      });
      steps.push([job.state, job.checked, job.deleted]);
      ({ state } = job);
    }
    return steps;
  });
  const one = [1, 2, 3].map((checked) => ['checking', checked, 0]);
  const other = [1, 2, 3, 4].map((deleted) => ['running', 4, deleted]);
  const slowly = [...one, ['running', 4, 0], ...other, ['done', 4, 4]];
  // On PostgreSQL nobody waits for a step.
  const atOnce = [
    ['checking', 1, 0],
    ['running', 4, 0],
    ['done', 4, 4],
  ];
  assert.deepEqual(progress, testEngine === 'sqlite' ? slowly : atOnce);
});

test('A25 a delete that nobody waits for goes on behind its answer, and only one process at a time works on it', async (t) => {
  const stage = await setUp(t, [{ ...relation, ...cascade }]);
  await stage.fill('a', 450, () => ({ author }));
  const request = { collection: 'authors', id: author, waitMs: 0 };
  await stage.service.withInstance('default', async (instance) => {
    const runner = new RemovalRunner({
      borrow: () => Promise.resolve({ instance, release: () => undefined }),
      logger: instance.logger,
    });
    const input = ruleInputOfCaller(operator);
    const { id, state } = await runner.remove(instance, input, request);
    assert.equal(state, 'checking');
    await eventually('the job is done', async () => (await readJob(instance.database, id))?.state === 'done');
    await runner.stop();
    const { json } = await stage.service.request(`/api/jobs/${id}`, { token: true });
    assert.deepEqual(
      [json.state, json.found, json.deleted, json.changed, json.cause],
      ['done', 451, 451, 0, ''],
    );
  });
  assert.deepEqual([await stage.total('authors'), await stage.total('posts')], [0, 0]);
});

test('A25 a record that has come to require another one since the check stops the job, which says why', async (t) => {
  const stage = await setUp(t, [
    { ...relation, ...cascade },
    { ...relation, name: 'keeps' },
  ]);
  await stage.fill('a', 450, () => ({ author }));
  await stage.fill('z', 1, () => ({ keeps: author }));
  const id = await stage.service.withInstance('default', async (instance) => {
    const input = ruleInputOfCaller(operator);
    const runner = new RemovalRunner({
      borrow: () => Promise.resolve(undefined),
      logger: instance.logger,
    });
    const { id: begun } = await runner.remove(instance, input, {
      collection: 'authors',
      id: author,
      waitMs: 0,
    });
    // As after a check that has found nothing against it.
    await instance.database.write((tx) =>
      tx.run(
        sql`UPDATE ${tx.names.table('$job')} SET state = 'running' WHERE ${tx.names.instance.condition} AND id = ${begun}`,
      ),
    );
    await runner.stop();
    return begun;
  });
  const { json } = await stage.ask('GET', '/posts');
  const before: readonly { readonly name: string }[] = json.fields;
  const fields = before.map((field) => (field.name === 'keeps' ? { ...field, required: true } : field));
  assert.equal((await stage.ask('PATCH', '/posts', { fields })).status, 200);
  await stage.service.withInstance('default', async (instance) => {
    const runner = new RemovalRunner({
      borrow: () => Promise.resolve({ instance, release: () => undefined }),
      logger: instance.logger,
    });
    runner.start();
    runner.wake(instance.id);
    await eventually(
      'the job has failed',
      async () => (await readJob(instance.database, id))?.state === 'failed',
    );
    await runner.stop();
  });
  const job = await stage.service.request(`/api/jobs/${id}`, { token: true });
  assert.match(job.json.cause, /, as it is in the field keeps of posts\.$/);
  assert.equal(await stage.total('authors'), 1);
  assert.equal((await stage.ask('POST', '/posts/records', { author, keeps: author })).status, 201);
});

test('A25 a record is deleted once, however many ask for it at the same time', async (t) => {
  const stage = await setUp(t, [{ ...relation, ...cascade }]);
  await stage.fill('a', 1_050, () => ({ author }));
  const remove = (): Promise<TestAnswer> => stage.ask('DELETE', `/authors/records/${author}`);
  const answers = await Promise.all([remove(), remove(), remove()]);
  for (const { status, text } of answers) assert.ok([202, 204, 404, 409].includes(status), text);
  const first = answers.find(({ status }) => status < 300);
  assert.ok(first);
  await deleted(stage, first);
  assert.deepEqual([await stage.total('authors'), await stage.total('posts')], [0, 0]);
  const { 'record.delete posts': posts, 'record.delete authors': authors } = await stage.events();
  assert.deepEqual([posts, authors], [[1_050, 1_050], [1, 1]]); // prettier-ignore
});

test('A25 a second delete of a record that leaves in steps is refused, or finishes it when few are left', async (t) => {
  const stage = await setUp(t, [{ ...relation, ...cascade }]);
  await stage.fill('a', 1_150, () => ({ author }));
  const input = ruleInputOfCaller(operator);
  const remove = (): Promise<TestAnswer> => stage.ask('DELETE', `/authors/records/${author}`);
  await stage.service.withInstance('default', async (instance) => {
    let isFree = false;
    const runner = new RemovalRunner({
      borrow: () => Promise.resolve(isFree ? { instance, release: () => undefined } : undefined),
      logger: instance.logger,
    });
    const { id } = await runner.remove(instance, input, { collection: 'authors', id: author, waitMs: 0 });
    const refused = await remove();
    assert.deepEqual(
      [refused.status, refused.json.message],
      [409, 'The record is being deleted already.'],
      refused.text,
    );
    // The check, and as many of the deletes as leave few enough: a step ends by its time.
    const lease = { holder: 'a/1', until: Number.MAX_SAFE_INTEGER };
    await instance.database.write((tx) => claimJob(tx, { lease, process: 'a', now: lease.until }));
    for (let deleted = 0; deleted < 150;) {
      const job = await instance.database.write(async (tx) => {
        const held = await holdJob(tx, id, lease);
        assert.ok(held);
        const next = await runStep({ instance, input, tx }, held);
        await saveJob(tx, next, instance.clock.now());
        return next;
      });
      deleted = job.deleted;
    }
    const finished = await remove();
    assert.equal(finished.status, 204, finished.text);
    await instance.database.write((tx) => releaseJob(tx, id, lease));
    isFree = true;
    runner.start();
    runner.wake(instance.id);
    await eventually('the job is done', async () => (await readJob(instance.database, id))?.state === 'done');
    await runner.stop();
  });
  assert.deepEqual([await stage.total('authors'), await stage.total('posts')], [0, 0]);
  const { 'record.delete posts': posts, 'record.delete authors': authors } = await stage.events();
  assert.deepEqual([posts, authors], [[1_150, 1_150], [1, 1]]); // prettier-ignore
});
