import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { readWebhooksDue } from '../../src/deliveries/read-webhooks-due.ts';
import { updateCollection } from '../../src/definitions/change-collection.ts';
import { noteRemovals } from '../../src/files/file-removals.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Logger } from '../../src/base/logger.ts';
import { DueIndex } from '../../src/instances/due-index.ts';
import { DueWork } from '../../src/instances/due-work.ts';
import type { InstanceDirectory } from '../../src/instances/instance-directory.ts';
import { InstanceVisits } from '../../src/instances/instance-visits.ts';
import { type DataDirectory, openDataDirectory } from '../../src/open-data-directory.ts';
import { startDueWork } from '../../src/start-due-work.ts';
import { sql, type Sql } from '../../src/sql/sql.ts';
import type { Transaction } from '../../src/storage/database.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { addPost, closeInstance, makeInstance, openSlugs } from '../support/instance-fleet.ts';
import { serveMain } from '../support/main-process.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { onSlug } from '../support/on-slug.ts';
import { Receiver } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';
import { masterKey, testConfig } from '../support/test-config.ts';

type Row = Readonly<Record<string, unknown>>;

/** What control.db knows of an instance that is open in a server, or of which nothing is known. */
const atOnce = { webhooks: 0, upkeep: 0 };

function readRows(data: string, query: string): readonly Row[] {
  const control = new DatabaseSync(join(data, 'control.db'), { readOnly: true });
  const rows = control.prepare(query).all();
  control.close();
  return rows.map((row) => ({ ...row }));
}

/** By the slugs of instances. */
function readDue(data: string): Readonly<Record<string, Row>> {
  const rows = readRows(
    data,
    'SELECT slug, webhooks, upkeep FROM "$due" JOIN "$instance" ON id = instance ORDER BY slug',
  );
  return Object.fromEntries(rows.map(({ slug, ...times }) => [String(slug), times]));
}

async function openReceiver(t: TestContext, status: number): Promise<Receiver> {
  const receiver = await Receiver.open({ mode: { kind: 'status', status } });
  t.after(() => receiver.close());
  return receiver;
}

test('after kill -9 the instances that were open are opened again, and their webhooks are sent', async (t) => {
  const receiver = await openReceiver(t, 500);
  const first = await startService(t);
  for (const slug of ['closed', 'idle', 'writing'])
    await makeInstance(first, slug, { url: `${receiver.url}${slug}`, schedule: [1] });
  await first.stop();
  assert.deepEqual(readDue(first.data), {});
  const served = await serveMain(t, first.data, { environment: { CHANCERY_KEY: masterKey } });
  const request = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(`${served.url}${path}`, init);
  assert.equal((await request('/i/idle/api/collections/posts/records')).status, 200);
  const created = await request('/i/writing/api/collections/posts/records', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  assert.equal(created.status, 201);
  served.process.kill('SIGKILL');
  await served.process.ended;
  // A server opens the default instance at its start.
  assert.deepEqual(readDue(first.data), { default: atOnce, idle: atOnce, writing: atOnce });
  receiver.mode = { kind: 'ok' };
  const sent = receiver.requests.length;
  const last = await startService(t, { data: first.data });
  await eventually('the webhook is sent', () => receiver.requests.length > sent);
  await eventually('both are opened', () => openSlugs(last.app.data).length === 3);
  assert.deepEqual(openSlugs(last.app.data), ['default', 'idle', 'writing']);
});

test('a closed instance has the time at which its next webhook is due, and none while nothing is', async (t) => {
  const receiver = await openReceiver(t, 500);
  const service = await startService(t);
  const { data } = service.app;
  const make = (slug: string, settings: object = {}): Promise<void> =>
    makeInstance(service, slug, { url: `${receiver.url}${slug}`, schedule: [600], ...settings });
  const attempts = (slug: string): number =>
    receiver.requests.filter(({ path }) => path.endsWith(slug)).length;
  await make('retry');
  await make('sent');
  await make('away');
  for (const slug of ['retry', 'away']) {
    await addPost(service, slug);
    await eventually(`${slug} was tried`, () => attempts(slug) === 1);
  }
  receiver.mode = { kind: 'ok' };
  await addPost(service, 'sent');
  await eventually('sent was delivered', () => attempts('sent') === 1);
  const dues = await service.withInstance('retry', async ({ database }) => {
    await eventually(
      'the retry is stored',
      async () => (await database.tuples(sql`SELECT due FROM "$outcome"`)).length > 0,
    );
    return database.tuples(sql`SELECT due FROM "$outcome"`);
  });
  // As a breaker that has opened for an hour.
  const opensAt = Date.now() + 3_600_000;
  await service.withInstance('away', ({ database }) =>
    database.write((tx) => tx.run(sql`UPDATE "$lane" SET state = 'open', probe_at = ${opensAt}`)),
  );
  const before = readDue(service.data);
  assert.deepEqual([before['retry'], before['sent'], before['away']], [atOnce, atOnce, atOnce]);
  for (const slug of ['retry', 'sent', 'away']) await closeInstance(data, slug);
  const after = readDue(service.data);
  assert.deepEqual(
    ['retry', 'sent', 'away'].map((slug) => after[slug]?.['webhooks']),
    [dues[0]?.[0], null, opensAt],
  );
  // Their logs are trimmed after 30 days.
  const upkeep = Number(after['sent']?.['upkeep']);
  assert.ok(Math.abs(upkeep - Date.now() - 30 * 86_400_000) < 3_600_000, String(upkeep));
});

test('what no endpoint is sent now makes nothing due', async (t) => {
  const service = await startService(t);
  await makeInstance(service, 'one', { url: 'https://example.com/', schedule: [] });
  const read = (): Promise<number | undefined> =>
    service.withInstance('one', ({ database }) => readWebhooksDue(database));
  const write = (...statements: readonly Sql[]): Promise<void> =>
    service.withInstance('one', ({ database }) =>
      database.write(async (tx) => {
        for (const statement of statements) await tx.run(statement);
      }),
    );
  assert.equal(await read(), undefined);
  await service.withInstance('one', ({ database }) => database.write(addUnsent));
  assert.equal(await read(), 0);
  for (const status of ['paused', 'disabled']) {
    await write(sql`UPDATE "$endpoint" SET status = ${status}`);
    assert.equal(await read(), undefined);
  }
  await write(sql`UPDATE "$endpoint" SET status = 'active'`, sql`UPDATE "$lane" SET held_until = 5000`);
  assert.equal(await read(), 5_000);
  await write(
    sql`INSERT INTO "$outcome" (event, endpoint, status, attempts, due, is_wide, record, put_off_until, cause, updated)
      SELECT 1000, position, 'pending', 1, 7000, 0, '', 0, '', '' FROM "$endpoint"`,
  );
  assert.equal(await read(), 7_000);
  await write(sql`UPDATE "$outcome" SET status = 'delivered', due = NULL`);
  assert.equal(await read(), undefined);
  await write(sql`INSERT INTO "$instance_setting" (name, value) VALUES ('decided', '999')`);
  assert.equal(await read(), 0, 'an event is undecided for endpoints of accounts');
  await write(sql`UPDATE "$instance_setting" SET value = '1000' WHERE name = 'decided'`);
  assert.equal(await read(), undefined);
  await write(sql`UPDATE "$lane" SET decided = 998`);
  assert.equal(await read(), 0, 'an endpoint is behind the others');
});

test('a command leaves a row beside that of the server, which takes it over when the command has ended or died', async (t) => {
  const service = await startService(t);
  const control = service.app.data.home.control;
  const logger = { debug: assert.fail, info: assert.fail, warn: assert.fail, error: assert.fail };
  const index = (isServer: boolean): DueIndex => new DueIndex({ control, isServer, logger });
  const [server, command] = [index(true), index(false)];
  const closed = (one: DueIndex, meanwhile?: () => Promise<unknown>): Promise<void> =>
    one.closed('x', async () => {
      await meanwhile?.();
      return { webhooks: undefined, upkeep: undefined };
    });
  await server.opened('x');
  await command.opened('x');
  await closed(server);
  assert.equal((await server.read()).get('x'), undefined);
  assert.deepEqual([...(await server.adopt())], [], 'the command still runs');
  await closed(command);
  // A second one, which has died.
  const dead = spawnSync(process.execPath, ['--version']).pid;
  await control.write((tx) => tx.run(sql`INSERT INTO "$command" VALUES ('y', ${`${dead} abc`})`));
  assert.deepEqual([...(await server.adopt())].toSorted(), ['x', 'y']);
  assert.deepEqual([(await server.read()).get('x'), (await server.read()).get('y')], [atOnce, atOnce]);
  assert.deepEqual([...(await server.adopt())], []);
  // It ends while the server closes the instance, and has read what is due in it.
  await command.opened('x');
  await closed(server, async () => {
    await closed(command);
    await server.adopt();
  });
  assert.deepEqual((await server.read()).get('x'), atOnce);
});

test('a server does what a command beside it has left to do', async (t) => {
  const removed: string[] = [];
  const service = await startService(t, {
    parts: {
      wrapStore: (store) =>
        Object.assign(Object.create(store), { remove: async (key: string) => void removed.push(key) }),
    },
  });
  await makeInstance(service, 'one');
  await closeInstance(service.app.data, 'one');
  const command = await openDataDirectory(await testConfig(service.data), {});
  await onSlug(command, 'one', ({ database }) => database.write((tx) => noteRemovals(tx, ['c/r/a'], 1)));
  assert.equal(readRows(service.data, 'SELECT * FROM "$command"').length, 1);
  await command.stop();
  await eventually('the file is removed', () => removed.length === 1);
  assert.deepEqual(readRows(service.data, 'SELECT * FROM "$command"'), []);
});

test('a server reads definitions again that a command has changed before it ended', async (t) => {
  const service = await startService(t);
  await makeInstance(service, 'one');
  const command = await openDataDirectory(await testConfig(service.data), {});
  await onSlug(command, 'one', ({ database, collections, clock }) =>
    updateCollection({ database, collections, now: clock.now() }, 'posts', { listRule: null }),
  );
  await command.stop();
  await eventually('guests may not list', async () => {
    const { status } = await service.request('/i/one/api/collections/posts/records');
    return status === 403;
  });
});

test('a reader leaves no trace of what it opens', async (t) => {
  const service = await startService(t);
  await service.stop();
  const reader = await openDataDirectory(await testConfig(service.data), { role: 'reader' });
  await onSlug(reader, 'default', () => Promise.resolve());
  await reader.stop();
  assert.deepEqual([readRows(service.data, 'SELECT * FROM "$command"'), readDue(service.data)], [[], {}]);
});

test('an instance is opened and closed although the index cannot be written, and a warning is logged', async (t) => {
  const service = await startService(t);
  const warnings: unknown[] = [];
  const logger = {
    debug: assert.fail,
    info: assert.fail,
    warn: (text: string) => void warnings.push(text),
    error: assert.fail,
  };
  const control = Object.assign(Object.create(service.app.data.home.control), {
    write: () => Promise.reject(new Error('full')),
  });
  const index = new DueIndex({ control, isServer: true, logger });
  await index.opened('x');
  let isClosed = false;
  await index.closed('x', async () => {
    isClosed = true;
    return atOnce;
  });
  assert.ok(isClosed);
  const warning = 'What is due in an instance could not be noted: after a restart, it may be done late.';
  assert.deepEqual(warnings, [warning, warning]);
});

test('webhooks that the dispatcher does not know are noted when their instance is closed', async (t) => {
  const service = await startService(t);
  await makeInstance(service, 'one', { url: 'https://example.com/' });
  await service.stop();
  const { opened, index, logger } = await openAsServer(t, service);
  const noted: (readonly [string, number])[] = [];
  const known = new Map<string, number>();
  const dispatcher = {
    nextDue: (id: string) => known.get(id),
    noteDue: (id: string, due: number) => void noted.push([id, due]),
  };
  const clock = new MovableClock(Date.now());
  const janitor = { visit: () => undefined };
  const work = await startDueWork({ ...opened, index, clock, logger }, { dispatcher, janitor });
  atEnd(t, () => work.stop());
  const id = opened.directory.findBySlug('one')?.id ?? '';
  const later = (): readonly unknown[] => noted.filter(([, due]) => due > 0);
  await onSlug(opened, 'one', ({ database }) => database.write(addUnsent));
  known.set(id, 1);
  await closeInstance(opened, 'one');
  assert.deepEqual(later(), []);
  known.clear();
  await onSlug(opened, 'one', () => Promise.resolve());
  await closeInstance(opened, 'one');
  assert.deepEqual(later(), [[id, clock.now() + 60_000]]);
});

test('an instance that a command has left is woken', async (t) => {
  const service = await startService(t);
  await service.stop();
  const { opened, index, logger } = await openAsServer(t, service);
  const id = opened.directory.findBySlug('default')?.id ?? '';
  // What is noted of an instance that was deleted meanwhile wakes nothing.
  for (const instance of [id, '$gone'])
    await opened.home.control.write((tx) => tx.run(sql`INSERT INTO "$command" VALUES (${instance}, '')`));
  const calls: string[] = [];
  const work = new DueWork({
    ...opened,
    index,
    logger,
    onChanged: async (changed) => void calls.push(`changed ${changed}`),
    onWebhooks: (woken, due) => void calls.push(`webhooks ${woken} ${due}`),
    onUpkeep: (woken) => void calls.push(`upkeep ${woken}`),
    clock: systemClock,
    paces: { sweepMs: 1_000_000, roundMs: 1_000_000 },
  });
  await work.start();
  await work.stop();
  assert.deepEqual(calls.slice(-3), [`changed ${id}`, `webhooks ${id} 0`, `upkeep ${id}`]);
  assert.ok(!calls.join().includes('$gone'));
});

/** Adds a delivery as if it had been there before: nobody is woken. */
async function addUnsent(tx: Transaction): Promise<void> {
  await tx.run(sql`
    INSERT INTO "$event" (position, id, kind, collection, collection_name, record, revision, created, body)
    VALUES (1000, 'e', 'record.create', 'c', 'posts', 'r', 1, '2026-01-01 00:00:00.000Z', x'7b7d')`);
  await tx.run(sql`INSERT INTO "$delivery" (event, endpoint) SELECT 1000, position FROM "$endpoint"`);
}

/** The data of a service that has stopped, as another server opens it. */
async function openAsServer(
  t: TestContext,
  { data }: TestService,
): Promise<{ readonly opened: DataDirectory; readonly index: DueIndex; readonly logger: Logger }> {
  const silent = (): void => undefined;
  const logger = { debug: silent, info: silent, warn: silent, error: silent };
  const opened = await openDataDirectory(await testConfig(data), { role: 'server', logger });
  atEnd(t, () => opened.stop());
  return { opened, index: new DueIndex({ control: opened.home.control, isServer: true, logger }), logger };
}

/** Visits of the instances of a service that has stopped and is opened anew, at once. */
async function visit(
  t: TestContext,
  { data }: TestService,
): Promise<{
  readonly directory: InstanceDirectory;
  readonly visited: string[];
  readonly log: string[];
  readonly openMost: () => number;
}> {
  const log: string[] = [];
  const visited: string[] = [];
  let openMost = 0;
  const note = (text: string): void => void log.push(text);
  const logger = { debug: note, info: note, warn: note, error: note };
  const opened = await openDataDirectory(await testConfig(data), { role: 'server', logger });
  const { directory, instances, home } = opened;
  const visits = new InstanceVisits({
    index: new DueIndex({ control: home.control, isServer: true, logger }),
    directory,
    instances,
    onVisit: (id) => {
      openMost = Math.max(openMost, instances.openCount);
      visited.push(directory.find(id)?.slug ?? '');
    },
    clock: performanceClock,
    logger,
    paces: { sweepMs: 1, roundMs: 1_000_000 },
  });
  atEnd(t, async () => {
    await visits.stop();
    await opened.stop();
  });
  await visits.start();
  return { directory, visited, log, openMost: () => openMost };
}

const performanceClock = { monotonic: () => performance.now() };

test('what the index has lost is found, as each closed instance is visited in turn', async (t) => {
  const service = await startService(t);
  for (const slug of ['one', 'two', 'three']) await makeInstance(service, slug);
  await service.stop();
  const { visited, openMost } = await visit(t, service);
  await eventually('all are visited', () => visited.length >= 4);
  assert.deepEqual(visited.toSorted(), ['default', 'one', 'three', 'two']);
  assert.ok(openMost() <= 2, 'the one before is closed');
});

test('an upgrade opens each instance once, and the next start tries again what it could not open', async (t) => {
  const service = await startService(t);
  for (const slug of ['one', 'two', 'three']) await makeInstance(service, slug);
  const id = service.app.data.directory.findBySlug('two')?.id ?? '';
  await service.stop();
  const control = new DatabaseSync(join(service.data, 'control.db'));
  control.exec(`UPDATE "$setting" SET value = '0 0' WHERE name = 'upgrade_checked'`);
  control.close();
  const file = join(service.data, 'instances', id, 'data.db');
  rmSync(`${file}-mark`, { force: true });
  truncateSync(file);
  const { directory, visited, log } = await visit(t, service);
  await eventually('all were tried', () =>
    log.some((text) => text.startsWith('Some instances could not be upgraded')),
  );
  assert.deepEqual(visited.slice(0, 3).toSorted(), ['default', 'one', 'three']);
  assert.equal(directory.upgradesLeft, 1);
  assert.deepEqual(readRows(service.data, 'SELECT instance FROM "$upgrade"'), [{ instance: id }]);
});
