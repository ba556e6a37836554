import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { type App, startApp } from '../../src/app.ts';
import { onInstance } from '../../src/open-data-directory.ts';
import { readConfig } from '../../src/config/config.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { atEnd } from '../support/at-end.ts';
import { formOf, type FormPart, formType } from '../support/file-stage.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { openTestPostgres } from '../support/postgres.ts';
import { inSample } from '../support/sample.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type CrashPlan, crashPoints, fileCrashPoints } from './crash-points.ts';
import { errorsOnly } from './errors-only.ts';
import { faultyDiskMissing, FaultyDisk } from './faulty-disk.ts';
import { posts } from './posts.ts';
import { ServerProcess } from './server-process.ts';

// A record never names a file that is not there, and no file is there for longer than an hour without a record that names it: with a
// process that really dies.

/** A node on PostgreSQL is given the key; a folder has its own. */
const key = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';

function environmentOf({ postgres }: Place): Readonly<Record<string, string>> {
  return postgres === undefined ? {} : { CHANCERY_KEY: key };
}

const hourMs = 60 * 60_000;

interface Place {
  readonly data: string;
  readonly postgres?: string;
}

interface StoredPost {
  readonly id: string;
  readonly photo: string;
  readonly papers: readonly string[];
}

function openPlace(place: Place, clock?: MovableClock): Promise<App> {
  const config = readConfig({ ...place, port: '0', dev: true }, environmentOf(place));
  return startApp(config, { logger: errorsOnly, ...(clock && { clock }) });
}

/** A folder, and a database if wanted, with the collection `posts`, whose records have files. */
async function preparePlace(t: TestContext, engine: string): Promise<Place> {
  const data = temporaryFolder(t);
  const server = engine === 'postgres' ? await openTestPostgres() : undefined;
  const place = server === undefined ? { data } : { data, postgres: await server.createDatabase() };
  const app = await openPlace(place);
  const [entry] = app.data.directory.all();
  assert.ok(entry);
  const fields = [
    { name: 'photo', type: 'file', maxSelect: 1 },
    { name: 'papers', type: 'file', maxSelect: 9 },
  ];
  await onInstance(app.data, entry, (instance) =>
    createCollection({ ...instance, now: instance.clock.now() }, { ...posts, fields }),
  );
  await app.stop();
  return place;
}

interface SentChange {
  readonly url: string;
  readonly method: string;
  readonly parts: readonly FormPart[];
}

/** What a client knows after the answers that it has got. */
class Client {
  /** Files by name as they were sent; each content is the name that the client gave. */
  readonly kept = new Map<string, StoredPost>();
  /** Records whose last change was not answered. */
  readonly unknown = new Set<string>();
  #sent = 0;

  /** Makes, changes and deletes records until the server is gone. */
  async write(url: string, rounds: number): Promise<void> {
    const at = `${url}/api/collections/posts/records`;
    for (let round = 0; round < rounds; round += 1) {
      const id = `r${String((this.#sent += 1)).padStart(14, '0')}`;
      const parts: readonly FormPart[] = [['id', id], this.#file('photo'), this.#file('papers')];
      const isMade = await this.#send(id, { url: at, method: 'POST', parts });
      if (!isMade) return;
      const change: readonly FormPart[] = [this.#file('photo'), this.#file('papers+')];
      if (!(await this.#send(id, { url: `${at}/${id}`, method: 'PATCH', parts: change }))) return;
      const [oldest = ''] = this.kept.keys();
      if (this.kept.size < 3) continue;
      // Its deletion may have taken effect on the server before, which was killed ahead of the answer.
      const mayBeGone = this.unknown.has(oldest);
      this.unknown.add(oldest);
      const answer = await fetch(`${at}/${oldest}`, { method: 'DELETE' }).catch(() => undefined);
      if (answer === undefined) return;
      if (!mayBeGone || answer.status !== 404) assert.equal(answer.status, 204);
      this.kept.delete(oldest);
      this.unknown.delete(oldest);
    }
  }

  #file(field: string): FormPart {
    const name = `file${(this.#sent += 1)}.txt`;
    return [field, name, name];
  }

  /** Returns whether it was answered. */
  async #send(id: string, { url, method, parts }: SentChange): Promise<boolean> {
    this.unknown.add(id);
    try {
      const headers = { 'content-type': formType };
      const answer = await fetch(url, { method, headers, body: new Uint8Array(formOf(parts)) });
      const text = await answer.text();
      assert.ok(answer.ok, text);
      // A record of the collection.
      this.kept.set(id, JSON.parse(text) as StoredPost);
      this.unknown.delete(id);
      return true;
    } catch (error) {
      if (error instanceof TypeError) return false;
      throw error;
    }
  }
}

async function readPosts(url: string): Promise<readonly StoredPost[]> {
  const answer = await fetch(`${url}/api/collections/posts/records?perPage=1000`);
  // The list contract of http-api.md.
  const { items } = (await answer.json()) as { readonly items: readonly StoredPost[] };
  return items;
}

function storageOf({ data }: Place): string {
  const [id = ''] = readdirSync(join(data, 'instances'));
  return join(data, 'instances', id);
}

/** The files below a folder, by their paths from there. */
function filesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Returns the paths of the files that the records name. Fails when one is not there, or is another. */
function checkNamed(place: Place, stored: readonly StoredPost[]): readonly string[] {
  const present = filesIn(join(storageOf(place), 'storage'));
  return stored.flatMap(({ id, photo, papers }) =>
    [photo, ...papers].map((name) => {
      const path = present.find((each) => each.endsWith(`/${id}/${name}`));
      assert.ok(path, `${id} names ${name}, which is not there`);
      assert.equal(readFileSync(path, 'utf8'), `${name.split('_')[0]}.txt`);
      return path;
    }),
  );
}

function checkKnown(client: Client, stored: readonly StoredPost[]): void {
  for (const [id, { photo, papers }] of client.kept) {
    if (client.unknown.has(id)) continue;
    const found = stored.find((each) => each.id === id);
    assert.deepEqual([found?.photo, found?.papers], [photo, papers], `${id} was acknowledged`);
  }
  for (const { id } of stored) assert.ok(client.kept.has(id) || client.unknown.has(id), `${id} was deleted`);
}

/** An hour later, nothing is there but what records name. */
async function checkAnHourLater(place: Place): Promise<void> {
  const app = await openPlace(place, new MovableClock(Date.now() + hourMs));
  try {
    await app.data.fileSweeper.sweep();
    const named = checkNamed(place, await readPosts(app.url));
    assert.deepEqual(filesIn(join(storageOf(place), 'storage')).toSorted(), named.toSorted());
    assert.deepEqual(filesIn(join(storageOf(place), 'uploads')), []);
  } finally {
    await app.stop();
  }
}

async function dieAt(place: Place, client: Client, crash: CrashPlan): Promise<void> {
  const server = await ServerProcess.start({ ...place, crash }, environmentOf(place));
  try {
    await client.write(server.url, 40);
    assert.equal((await server.ended).signal, 'SIGKILL', `it came to ${crash.point}`);
  } finally {
    await server.signal('SIGKILL');
  }
}

const points = [
  ...fileCrashPoints,
  ...crashPoints.filter((point) => /record row|the answer$/.test(point)),
] as const;

for (const engine of ['sqlite', 'postgres'])
  test(`F-13 after kill -9 at every point of an upload and a removal, each record has its files and no others are left an hour later (${engine})`, async (t) => {
    const place = await preparePlace(t, engine);
    const client = new Client();
    for (const [index, point] of points.entries()) {
      // Fewer points on the second engine: what is done with files is the same there.
      if (index % (engine === 'postgres' ? inSample(4, 2) : inSample(2, 1)) > 0) continue;
      await dieAt(place, client, { point, hit: 4 + (index % 3) });
      const again = await ServerProcess.start(place, environmentOf(place));
      const stored = await readPosts(again.url);
      await again.signal('SIGKILL');
      checkNamed(place, stored);
      checkKnown(client, stored);
    }
    assert.ok(client.unknown.size > 0);
    await checkAnHourLater(place);
  });

test(
  'a disk that is full answers 507 to an upload, and has room again when the request is over',
  { skip: faultyDiskMissing ?? false },
  async (t) => {
    const place = await preparePlace(t, 'sqlite');
    const disk = new FaultyDisk();
    atEnd(t, () => disk.close());
    const server = await ServerProcess.start(place, disk.environment(place.data));
    atEnd(t, () => server.signal('SIGKILL'));
    const send = async (): Promise<number> => {
      const parts: readonly FormPart[] = [
        ['photo', 'file1.txt', 'file1.txt'],
        ['papers', 'x'.repeat(1_000_000), 'file2.txt'],
      ];
      const headers = { 'content-type': formType };
      const url = `${server.url}/api/collections/posts/records`;
      const answer = await fetch(url, { method: 'POST', headers, body: new Uint8Array(formOf(parts)) });
      await answer.arrayBuffer();
      return answer.status;
    };
    for (const skip of [0, 1, 5]) {
      disk.fail({ call: 'write', error: 'ENOSPC', suffix: '.upload', skip });
      assert.equal(await send(), 507);
      assert.deepEqual(filesIn(join(storageOf(place), 'uploads')), []);
      assert.deepEqual(filesIn(join(storageOf(place), 'storage')), []);
    }
    disk.fail({ call: 'sync', error: 'ENOSPC', suffix: '.upload' });
    assert.equal(await send(), 507);
    disk.heal();
    assert.equal(await send(), 201);
    assert.equal((await readPosts(server.url)).length, 1);
  },
);
