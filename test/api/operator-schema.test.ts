// Both engines: jobs are rows that are claimed, and a plan that checks records is rolled back.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import { older, SchemaStage, type ShownJob, target, text } from '../support/schema-stage.ts';
import { testEngine } from '../support/test-config.ts';

function countsOf({ total, done, changed, unchanged, failed, skipped }: ShownJob): unknown {
  return { total, done, changed, unchanged, failed, skipped };
}

const slugsOf = (letter: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${letter}-${at}`);

/** With PostgreSQL there are nodes instead. */
const threadCounts = testEngine === 'sqlite' ? (['0', '2'] as const) : (['0'] as const);

const google = { name: 'google', clientId: 'shop' };

for (const hostThreads of threadCounts)
  test(`30 instances are brought to one definition, with --host-threads ${hostThreads}`, async (t) => {
    const stage = await SchemaStage.open(t, { flags: { 'host-threads': hostThreads } });
    const [there, old, bare] = [slugsOf('there', 10), slugsOf('old', 14), slugsOf('bare', 3)];
    const conflicting = slugsOf('conflict', 3);
    const labels = { plan: 'pro' };
    for (const slug of there) await stage.make(slug, target, labels);
    for (const slug of old) await stage.make(slug, older, labels);
    for (const slug of bare) await stage.make(slug, [], labels);
    for (const slug of conflicting) await stage.makeConflicting(slug, labels);
    await stage.make('other', older, { plan: 'free' });
    const all = [...there, ...old, ...bare, ...conflicting];
    const instances = "labels.plan = 'pro'";
    const storedOf = (slugs: readonly string[]): Promise<readonly unknown[]> =>
      Promise.all(slugs.map((slug) => stage.stored(slug)));
    const before = await storedOf([...all, 'other']);

    const dry = await stage.apply({ instances, collections: target, dryRun: true });
    const counts = { total: 30, done: 30, changed: 17, unchanged: 10, failed: 3, skipped: 0 };
    assert.deepEqual([dry['dryRun'], dry.state, countsOf(dry)], [true, 'failed', counts]);
    assert.deepEqual(await storedOf([...all, 'other']), before);
    const expected = Object.fromEntries([
      ...there.map((slug) => [slug, 'unchanged']),
      ...[...old, ...bare].map((slug) => [slug, 'changed']),
      ...conflicting.map((slug) => [slug, 'failed']),
    ]);
    assert.deepEqual(await stage.states(dry.id), expected);

    const job = await stage.apply({ instances, collections: target });
    assert.deepEqual([job['dryRun'], job.state, countsOf(job)], [false, 'failed', counts]);
    assert.deepEqual(await stage.states(job.id), expected);
    const results = await stage.results(job.id);
    const changesIn = (slug: string): unknown => results.find((one) => one.slug === slug)?.changes;
    const ofOld = [
      { collection: 'tags', change: 'create', added: [], changed: [], removed: [] },
      {
        collection: 'posts',
        change: 'change',
        added: ['field body', 'index posts_title'],
        changed: [],
        removed: [],
      },
    ];
    assert.deepEqual(changesIn('old-0'), ofOld);
    assert.deepEqual(
      (await stage.results(dry.id)).map(({ slug, changes }) => [slug, changes]),
      results.map(({ slug, changes }) => [slug, changes]),
    );
    // Those that have it get no write at all, nor do those that refuse it, nor the others.
    const after = await storedOf([...all, 'other']);
    for (const [at, slug] of [...all, 'other'].entries())
      if (expected[slug] !== 'changed') assert.deepEqual(after[at], before[at], slug);
    for (const slug of [...old, ...bare]) {
      const path = `/i/${slug}/api/collections/posts/records`;
      const { status, json } = await stage.service.request(path, {
        method: 'POST',
        body: { title: 'A', body: 'B' },
      });
      assert.deepEqual([status, json.body], [201, 'B'], slug);
    }
    // The error is that of the import of the instance.
    const refused = results.find(({ slug }) => slug === 'conflict-0')?.error;
    assert.equal(refused?.status, 400);
    assert.equal(refused.message, 'Failed to import collections.');
    assert.match(JSON.stringify(refused.data), /posts_title of posts cannot be made/);

    const again = await stage.apply({ instances, collections: target });
    assert.deepEqual(countsOf(again), { ...counts, changed: 0, unchanged: 27 });
  });

describe('a schema job', () => {
  test('is created once under an idempotency key, is audited, and is listed', async (t) => {
    const stage = await SchemaStage.open(t);
    await stage.make('acme', older);
    const body = { instances: ['acme', 'acme'], collections: target };
    const headers = { 'idempotency-key': 'release 7' };
    const first = await stage.put(body, { headers });
    const repeated = await stage.call(202, 'PUT /schema', { body, headers });
    assert.deepEqual([repeated.json.id, repeated.headers.get('idempotent-replayed')], [first.id, 'true']);
    await stage.call(422, 'PUT /schema', { body: { ...body, dryRun: true }, headers });
    assert.deepEqual([first.state, first['total'], first['stopAfter']], ['waiting', 1, null]);
    await stage.over(first.id);
    const other = await stage.apply({ ...body, dryRun: true });
    const ids = async (query: string): Promise<readonly string[]> =>
      (await stage.jobs(query)).map(({ id }) => id);
    assert.deepEqual(await ids('sort=-created'), [other.id, first.id]);
    assert.deepEqual(await ids('filter=dryRun=false'), [first.id]);
    assert.deepEqual(await ids("filter=state='failed'"), []);
    assert.deepEqual(await ids('perPage=1&page=2'), [other.id]);
    const found = await stage.results(first.id, "&filter=state='changed'&sort=-slug");
    assert.deepEqual(
      found.map(({ slug }) => slug),
      ['acme'],
    );
    assert.deepEqual(await stage.results(first.id, "&filter=state='failed'"), []);
    await stage.call(400, `GET /schema/${first.id}/results?filter=changes='x'`);
    const audit = await stage.call(200, "GET /audit?filter=action='schema.apply'");
    const entries: readonly { readonly target: string; readonly details: unknown }[] = audit.json.items;
    assert.deepEqual(
      entries.map((entry) => [entry.target, entry.details]),
      [
        [first.id, { dryRun: false, deleteMissing: false, instances: 1 }],
        [other.id, { dryRun: true, deleteMissing: false, instances: 1 }],
      ],
    );
    await stage.call(404, 'GET /schema/none');
    await stage.call(404, 'GET /schema/none/results');
    await stage.call(404, 'POST /schema/none/cancel');
    await stage.call(404, 'POST /schema/none/retry');
  });

  test('deletes what is missing where that is asked for, and says so', async (t) => {
    const stage = await SchemaStage.open(t);
    await stage.make('acme', [...target, { name: 'extra' }]);
    const posts = { ...target[0], fields: [text('title')], indexes: [], viewRule: '' };
    const job = await stage.apply({ instances: ['acme'], collections: [posts], deleteMissing: true });
    assert.equal(job.state, 'done');
    const [result] = await stage.results(job.id);
    assert.deepEqual(
      result?.changes.map(({ collection, change, changed, removed }) => [
        collection,
        change,
        changed,
        removed,
      ]),
      [
        ['posts', 'change', ['viewRule'], ['field body', 'index posts_title']],
        ['users', 'delete', [], []],
        ['tags', 'delete', [], []],
        ['extra', 'delete', [], []],
      ],
    );
  });

  test('skips instances that are suspended or deleted, and retries them and the failed ones', async (t) => {
    const stage = await SchemaStage.open(t);
    await stage.make('active', older);
    await stage.make('late', older);
    await stage.make('gone', older);
    await stage.make('restored', older);
    await stage.makeConflicting('conflict');
    // As while a backup takes its place.
    await stage.setState('restored', 'replacing');
    await stage.call(200, 'POST /instances/late/suspend');
    const go = await stage.hold();
    const { id } = await stage.put({
      instances: ['active', 'late', 'gone', 'restored', 'conflict'],
      collections: target,
    });
    await stage.call(200, 'DELETE /instances/gone');
    await stage.call(400, `POST /schema/${id}/retry`);
    await go();
    const job = await stage.over(id);
    const states = {
      active: 'changed',
      late: 'skipped',
      gone: 'skipped',
      restored: 'skipped',
      conflict: 'failed',
    };
    assert.deepEqual(await stage.states(id), states);
    const reasons = (await stage.results(id, "&filter=state='skipped'")).map(({ error }) => error?.message);
    assert.deepEqual(reasons, [
      'The instance is suspended.',
      'The instance is deleted.',
      'A backup is being restored in the place of the instance.',
    ]);
    await stage.setState('restored', 'active');

    await stage.call(200, 'POST /instances/late/resume');
    const path = '/i/conflict/api/collections/posts/records';
    const records = await stage.service.request(path);
    await stage.service.withInstance('conflict', ({ database }) =>
      database.write((tx) =>
        tx.run(sql`DELETE FROM ${tx.names.collectionTable('posts')} WHERE id = ${records.json.items[0].id}`),
      ),
    );
    const again = (await stage.call(200, `POST /schema/${id}/retry`)).json;
    assert.deepEqual([again.state, again.waiting, again.changed], ['waiting', 4, 1]);
    assert.equal((await stage.over(id)).state, 'done');
    assert.deepEqual(await stage.states(id), {
      ...states,
      late: 'changed',
      restored: 'changed',
      conflict: 'changed',
    });
    assert.equal(job['failed'], 1);
  });

  test('stops after so many failures, and what it has not begun is skipped and can be retried', async (t) => {
    const stage = await SchemaStage.open(t);
    for (const slug of slugsOf('conflict', 4)) await stage.makeConflicting(slug);
    for (const slug of slugsOf('old', 12)) await stage.make(slug, older);
    const job = await stage.apply({ instances: "slug != 'default'", collections: target, stopAfter: 2 });
    assert.equal(job.state, 'failed');
    const results = await stage.results(job.id);
    const skipped = results.filter(({ state }) => state === 'skipped');
    assert.ok(skipped.length > 0, JSON.stringify(job));
    assert.match(skipped[0]?.error?.message ?? '', /^The job stopped after [234] failures\.$/);
    assert.equal(job['skipped'], skipped.length);
    assert.equal(job['done'], job['total']);
  });

  test('that is cancelled begins no further instance', async (t) => {
    const stage = await SchemaStage.open(t);
    for (const slug of slugsOf('old', 12)) await stage.make(slug, older);
    const instances = "slug != 'default'";
    const go = await stage.hold();
    const waiting = await stage.put({ instances, collections: target });
    const cancelled = (await stage.call(200, `POST /schema/${waiting.id}/cancel`)).json;
    assert.deepEqual([cancelled.state, cancelled.skipped], ['cancelled', 12]);
    assert.deepEqual((await stage.call(200, `POST /schema/${waiting.id}/cancel`)).json, cancelled);
    await go();
    const running = await stage.put({ instances, collections: target });
    await eventually('it has begun', async () => (await stage.job(running.id)).state !== 'waiting');
    await stage.call(200, `POST /schema/${running.id}/cancel`);
    const job = await stage.over(running.id);
    assert.equal(job['done'], 12);
    const { changed, skipped } = job;
    assert.equal(Number(changed) + Number(skipped), 12, JSON.stringify(job));
    const results = await stage.results(job.id);
    for (const { slug, state, error } of results) {
      const posts = await stage.service.withInstance(slug, ({ collections }) =>
        Promise.resolve(collections.find('tags')),
      );
      assert.equal(posts !== undefined, state === 'changed', slug);
      if (state === 'skipped') assert.equal(error?.message, 'The job was cancelled.');
    }
    // Of the running job every instance may have begun before it was cancelled: nothing would be left to retry.
    await stage.call(200, `POST /schema/${waiting.id}/retry`);
    assert.deepEqual((await stage.over(waiting.id)).state, 'done');
  });

  test('is refused before it exists where its body is wrong', async (t) => {
    const stage = await SchemaStage.open(t);
    await stage.make('acme', older);
    const good = { instances: ['acme'], collections: target };
    const withPosts = (more: object): object => ({ ...good, collections: [{ name: 'posts', ...more }] });
    const cases: readonly (readonly [unknown, string])[] = [
      [{}, 'collections'],
      [{ ...good, dryrun: true }, 'dryrun'],
      [{ ...good, dryRun: 'yes' }, 'dryRun'],
      [{ ...good, deleteMissing: 1 }, 'deleteMissing'],
      [{ ...good, stopAfter: 0 }, 'stopAfter'],
      [{ ...good, stopAfter: 1.5 }, 'stopAfter'],
      [{ collections: target }, 'instances'],
      [{ ...good, instances: 5 }, 'instances'],
      [{ ...good, instances: [] }, 'instances'],
      [{ ...good, instances: ['acme', 7] }, 'instances'],
      [{ ...good, instances: Array.from({ length: 10_001 }, () => 'acme') }, 'instances'],
      [{ ...good, instances: ['acme', 'none'] }, 'instances.1'],
      [{ ...good, instances: "slug = 'none'" }, 'instances'],
      [{ ...good, instances: 'slug = ' }, 'instances'],
      [{ ...good, instances: 'nope = 1' }, 'instances'],
      [{ ...good, collections: [] }, 'collections'],
      [{ ...good, collections: {} }, 'collections'],
      [{ ...good, collections: ['posts'] }, 'collections'],
      [{ ...good, collections: [{ fields: [] }] }, 'collections.0.name'],
      [{ ...good, collections: [{ name: 'a b' }] }, 'collections.0.name'],
      [{ ...good, collections: [{ id: 5, name: 'posts' }] }, 'collections.0.id'],
      [withPosts({ type: 'view' }), 'collections.0.viewQuery'],
      [withPosts({ type: 'none' }), 'collections.0.type'],
      [withPosts({ listRule: 5 }), 'collections.0.listRule'],
      [withPosts({ fields: 'title' }), 'collections.0.fields'],
      [withPosts({ fields: [{ name: 'x', type: 'none' }] }), 'collections.0.fields.1.type'],
      [withPosts({ fields: [text('x'), text('x')] }), 'collections.0.fields.2.name'],
      [withPosts({ indexes: ['DROP TABLE posts'] }), 'collections.0.indexes.0'],
      [withPosts({ type: 'auth', authToken: { secret: 'x'.repeat(40) } }), 'collections.0.authToken.secret'],
      [
        withPosts({ type: 'auth', oauth2: { providers: [{ ...google, clientSecret: 'x' }] } }),
        'collections.0.oauth2.secret',
      ],
      [{ ...good, collections: [{ name: 'posts', help: 'x'.repeat(4 * 1024 * 1024) }] }, 'collections'],
    ];
    for (const [body, path] of cases) {
      const { json } = await stage.call(400, 'PUT /schema', { body });
      assert.equal(json.message, 'Failed to create schema job.', path);
      let at: unknown = json.data;
      // A path that leads to nothing makes this undefined.
      for (const name of path.split('.')) at = (at as Record<string, unknown> | undefined)?.[name];
      assert.ok(at !== undefined, `${path}: ${JSON.stringify(json)}`);
    }
    for (const body of ['[]', '{', '"x"']) await stage.call(400, 'PUT /schema', { body });
    assert.equal((await stage.call(200, 'GET /schema')).json.totalItems, 0);
    // What depends on the instances is refused by them.
    const relation = { name: 'by', type: 'relation', collectionId: 'elsewhere' };
    const job = await stage.apply(withPosts({ fields: [relation], listRule: '@collection.none.id = id' }));
    assert.equal(job.state, 'failed');
  });

  test('waits while another one runs; so many may wait, and so many are kept', async (t) => {
    const stage = await SchemaStage.open(t);
    const body = { instances: ['default'], collections: target, dryRun: true };
    const early = await stage.apply(body);
    const go = await stage.hold();
    // With that which runs elsewhere.
    const jobs: ShownJob[] = [];
    for (let count = 1; count < 20; count += 1) jobs.push(await stage.put(body));
    const refused = await stage.request('PUT', { body });
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '60']);
    const [first] = jobs;
    await stage.call(200, `POST /schema/${first?.id}/cancel`);
    jobs.push(await stage.put(body));
    await go();
    for (const { id } of jobs) await stage.over(id);
    jobs.push(await stage.apply(body));
    const last = await stage.apply(body);
    assert.deepEqual(
      (await stage.jobs('perPage=100')).map(({ id }) => id),
      [...jobs, last].slice(-21).map(({ id }) => id),
    );
    await stage.call(404, `GET /schema/${early.id}/results`);
  });

  test('is for keys with the scope, and other keys see or change nothing', async (t) => {
    const stage = await SchemaStage.open(t);
    const { id } = await stage.apply({ instances: ['default'], collections: target, dryRun: true });
    const { key: read } = await makeOperatorKey(stage.service, ['instances:read']);
    const { key: write } = await makeOperatorKey(stage.service, ['instances:write']);
    const [asRead, asWrite] = [operatorCaller(stage.service, read), operatorCaller(stage.service, write)];
    const body = { instances: ['default'], collections: target };
    await asRead(403, 'PUT /schema', { body });
    await asRead(403, `POST /schema/${id}/cancel`);
    await asRead(403, `POST /schema/${id}/retry`);
    for (const path of ['', `/${id}`, `/${id}/results`]) {
      await asRead(200, `GET /schema${path}`);
      await asWrite(403, `GET /schema${path}`);
    }
    await asWrite(202, 'PUT /schema', { body });
  });
});
