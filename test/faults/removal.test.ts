import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startApp } from '../../src/app.ts';
import { onInstance } from '../../src/open-data-directory.ts';
import { readConfig } from '../../src/config/config.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { sql } from '../../src/sql/sql.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { serveMain } from '../support/main-process.ts';
import { openTestPostgres } from '../support/postgres.ts';
import { inSample } from '../support/sample.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { errorsOnly } from './errors-only.ts';
import { posts } from './posts.ts';

// A delete of a record with thousands of others goes on in the next process, wherever the one before was killed: nothing is deleted twice,
// and each record has its event once.

/** A node on PostgreSQL is given the key; a folder has its own. */
const key = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';
const author = 'author000000001';
const count = 3_000;
/** How long after the request each process is killed: among the checks, and between the steps of the delete. */
const killsMs = [150, 300, 60, 100, 200, 30];

/** A job of a process that has died is free after 15 s; then thousands of records are deleted, beside all that a busy machine does. */
const overMs = 300_000;

interface Place {
  readonly data: string;
  readonly postgres?: string;
}

function environmentOf({ postgres }: Place): Readonly<Record<string, string>> {
  return postgres === undefined ? {} : { CHANCERY_KEY: key };
}

function openPlace(place: Place) {
  const config = readConfig({ ...place, port: '0', dev: true }, environmentOf(place));
  return startApp(config, { logger: errorsOnly });
}

async function preparePlace(t: TestContext, engine: string): Promise<Place> {
  const data = temporaryFolder(t);
  const server = engine === 'postgres' ? await openTestPostgres() : undefined;
  const place = server === undefined ? { data } : { data, postgres: await server.createDatabase() };
  const app = await openPlace(place);
  const [entry] = app.data.directory.all();
  assert.ok(entry);
  const relation = { name: 'author', type: 'relation', collectionId: 'authors', cascadeDelete: true };
  await onInstance(app.data, entry, async (instance) => {
    const change = { ...instance, now: instance.clock.now() };
    await createCollection(change, { ...posts, id: 'authors', name: 'authors' });
    await createCollection(change, { ...posts, fields: [...posts.fields, relation] });
  });
  const send = async (requests: readonly object[]): Promise<void> => {
    const answer = await fetch(`${app.url}/api/batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ requests }),
    });
    assert.equal(answer.status, 200, await answer.text());
  };
  await send([{ method: 'POST', url: '/api/records/authors', body: { id: author } }]);
  const create = { method: 'POST', url: '/api/records/posts', body: { author } };
  for (let at = 0; at < count; at += 50) await send(Array.from({ length: 50 }, () => create));
  await app.stop();
  return place;
}

/** Begins the delete, unless it was begun before, and kills the process after a while. */
async function killHalfway(t: TestContext, place: Place, afterMs: number): Promise<void> {
  const flags = place.postgres === undefined ? [] : ['--postgres', place.postgres];
  const { process, url } = await serveMain(t, place.data, { flags, environment: environmentOf(place) });
  const answered = fetch(`${url}/api/records/authors/${author}`, { method: 'DELETE' }).catch(() => undefined);
  await delay(afterMs);
  process.kill('SIGKILL');
  await Promise.all([process.ended, answered]);
}

for (const engine of ['sqlite', 'postgres'])
  test(`a delete in steps goes on after its process was killed, on ${engine}`, async (t) => {
    const place = await preparePlace(t, engine);
    // Each round begins where the last has ended.
    for (const afterMs of killsMs.slice(0, inSample(2, killsMs.length))) await killHalfway(t, place, afterMs);
    const app = await openPlace(place);
    atEnd(t, () => app.stop());
    const path = `${app.url}/api/records/authors/${author}`;
    // Where it was killed before the delete began, and nothing is left to go on with.
    const isOver = async (): Promise<boolean> => {
      const { status } = await fetch(path, { method: 'DELETE' });
      return [204, 404].includes(status);
    };
    await eventually('nobody works on the delete of a process that has died', isOver, overMs);
    const [entry] = app.data.directory.all();
    assert.ok(entry);
    const numbers = (): Promise<readonly number[]> =>
      onInstance(app.data, entry, async ({ database }) => {
        const { names } = database;
        const [events] = await database.tuples(sql`
          SELECT count(*), count(DISTINCT record) FROM ${names.table('$event')}
          WHERE ${names.instance.condition} AND kind = 'record.delete'`);
        const [left] = await database.tuples(sql`SELECT count(*) FROM ${names.collectionTable('posts')}`);
        const [leaving] = await database.tuples(
          sql`SELECT count(*) FROM ${names.table('$leaving')} WHERE ${names.instance.condition}`,
        );
        return [...(events ?? []), left?.[0], leaving?.[0]].map(Number);
      });
    await eventually('the job has seen that nothing is left', async () => (await numbers()).at(-1) === 0);
    assert.deepEqual(await numbers(), [count + 1, count + 1, 0, 0]);
  });
