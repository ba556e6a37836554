// Both engines: a job is held by a lease, which its rows are locked by and compared with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsFrom } from '../../src/http/server/host-calls.ts';
import { applySchema } from '../../src/operator/apply-schema.ts';
import { SchemaWork } from '../../src/operator/schema-work.ts';
import { eventually } from '../support/eventually.ts';
import { logInto } from '../support/log-into.ts';
import { operatorOf } from '../support/operator-stage.ts';
import { farMs, older, SchemaStage, target } from '../support/schema-stage.ts';

const changes = '[{"collection":"posts","change":"change","added":["field body"],"changed":[],"removed":[]}]';

test('a holder whose lease is over begins, notes and ends nothing any more', async (t) => {
  const stage = await SchemaStage.open(t);
  for (const slug of ['one', 'two']) await stage.make(slug, older);
  await stage.hold();
  const { id } = await stage.put({ instances: ['one', 'two'], collections: target });
  const job = await stage.holdJob(id, 'first');
  const database = stage.service.app.data.home.background;
  const early = new SchemaWork(database, { now: () => farMs - 1 });
  const late = new SchemaWork(database, { now: () => farMs + 1 });
  assert.equal(await early.claim('other'), undefined);
  const task = await early.begin(job);
  assert.ok(task !== undefined);
  assert.equal(await early.note(job, task, changes), true);

  const taken = await late.claim('second');
  assert.deepEqual([taken?.id, taken?.holder], [id, 'second']);
  assert.ok(taken !== undefined);
  assert.equal(await late.claim('third'), undefined);
  const shown = await stage.results(id);
  assert.deepEqual(
    shown.map(({ state }) => state),
    ['waiting', 'waiting'],
  );
  const again = await late.begin(taken);
  assert.deepEqual(again, { ...task, begun: changes });
  assert.equal(await early.begin(job), undefined);
  assert.equal(await early.note(job, task, '[]'), false);
  await early.settle(job, task, { state: 'failed', changes: '', error: '' });
  await early.release(job);
  await early.end(job);
  assert.deepEqual((await stage.job(id)).state, 'running');
  assert.deepEqual(await stage.states(id), { one: 'running', two: 'waiting' });
  assert.equal(await new SchemaWork(database, { now: () => farMs + 2 }).claim('third'), undefined);

  await late.settle(taken, again, { state: 'unchanged', changes: '', error: '' });
  await stage.call(200, `POST /schema/${id}/cancel`);
  assert.equal(await late.begin(taken), undefined);
  await late.end(taken);
  assert.equal((await stage.job(id)).state, 'cancelled');
  assert.deepEqual(await stage.states(id), { one: 'unchanged', two: 'skipped' });
});

test('an instance is not changed once the job is held by another process', async (t) => {
  const stage = await SchemaStage.open(t);
  const instance = await stage.make('one', older);
  const before = await stage.stored('one');
  const { app } = stage.service;
  const calls = callsFrom('', { host: app.hosts.host, ledger: app.server.memory });
  const job = { id: '', holder: '', collections: '', address: '', deleteMissing: false, stopAfter: 0 };
  const application = {
    operator: operatorOf(stage.service),
    calls,
    job: { ...job, dryRun: false },
    body: { collections: target },
    logger: logInto([]),
    signal: new AbortController().signal,
  };
  const task = { position: 1, instance, begun: '' };
  const refuse = (): Promise<boolean> => Promise.resolve(false);
  assert.equal(await applySchema({ ...application, onChange: refuse }, task), undefined);
  assert.deepEqual(await stage.stored('one'), before);
  const outcome = await applySchema({ ...application, onChange: () => Promise.resolve(true) }, task);
  assert.equal(outcome?.state, 'changed');
});

test('what was being changed when its holder ended is tried again, and shown as changed by the job', async (t) => {
  const stage = await SchemaStage.open(t);
  // The import of the first one was committed, and that of the second one was not.
  await stage.make('one', target);
  await stage.make('two', older);
  await stage.make('three', target);
  await stage.hold();
  const { id } = await stage.put({ instances: ['one', 'two', 'three'], collections: target });
  const job = await stage.holdJob(id, 'gone');
  const work = new SchemaWork(stage.service.app.data.home.background, { now: () => farMs - 1 });
  for (const _ of ['one', 'two']) {
    const task = await work.begin(job);
    assert.ok(task !== undefined);
    await work.note(job, task, changes);
  }
  await stage.endLease(id);
  assert.equal((await stage.over(id)).state, 'done');
  const results = await stage.results(id);
  assert.deepEqual(
    results.map(({ slug, state, changes: shown }) => [
      slug,
      state,
      shown.map(({ collection }) => collection),
    ]),
    [
      ['one', 'changed', ['posts']],
      ['two', 'changed', ['tags', 'posts']],
      ['three', 'unchanged', []],
    ],
  );
});

test('a job goes on where it was when the data is opened again', async (t) => {
  const stage = await SchemaStage.open(t);
  const slugs = Array.from({ length: 30 }, (_, at) => `old-${at}`);
  for (const slug of slugs) await stage.make(slug, older);
  const { id } = await stage.put({ instances: slugs, collections: target });
  await eventually('some instances are done', async () => Number((await stage.job(id))['done']) >= 2);
  await stage.service.stop();
  const next = await SchemaStage.open(t, { data: stage.service.data });
  assert.equal((await next.over(id)).state, 'done');
  assert.deepEqual(await next.states(id), Object.fromEntries(slugs.map((slug) => [slug, 'changed'])));
  for (const slug of slugs) {
    const { json } = await next.service.request(`/i/${slug}/api/collections/posts/records`);
    assert.equal(json.totalItems, 0, slug);
  }
  assert.deepEqual(
    next.service.log.filter(({ level }) => level === 'error'),
    [],
  );
  assert.deepEqual(
    stage.service.log.filter(({ level }) => level === 'error'),
    [],
  );
});
