import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  statfsSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { codeOf } from '../../src/base/process.ts';
import { eventually } from '../support/eventually.ts';
import { endWith, main, MainProcess } from '../support/main-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const diskMiB = 24;
const neighbour = 'neighbour';
const account = { identity: 'root@example.com', password: 'correct horse' };
const posts = '/api/collections/posts/records';

/** A file system of its own for the server, which any user may have where the system lets them. */
const missing =
  spawnSync('unshare', ['-Urm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0
    ? false
    : 'no file system can be mounted here (unshare -Urm)';

const script = `
  mount -t tmpfs -o size="$DISK_SIZE" none "$DISK" &&
  "$0" "$1" superuser upsert '${account.identity}' '${account.password}' --data "$DISK" >/dev/null &&
  for neighbour in $NEIGHBOURS; do
    "$0" "$1" instance create "$neighbour" --data "$DISK" >/dev/null &&
    "$0" "$1" superuser upsert '${account.identity}' '${account.password}' --instance "$neighbour" --data "$DISK" >/dev/null || exit
  done &&
  exec "$0" "$@"`;

interface Place {
  readonly server: MainProcess;
  readonly url: string;
  /** The disk, as this process reaches it. */
  readonly disk: string;
  readonly token: string;
}

interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

interface PlaceOptions {
  readonly mib?: number;
  readonly neighbours?: readonly string[];
  readonly flags?: readonly string[];
}

async function startPlace(
  t: TestContext,
  { mib = diskMiB, neighbours = [], flags = [] }: PlaceOptions = {},
): Promise<Place> {
  const folder = temporaryFolder(t);
  const program = ['unshare', '-Urm', 'sh', '-c', script, process.execPath, main];
  const args = ['serve', '--port', '0', '--data', folder, ...flags];
  const environment = { DISK: folder, DISK_SIZE: `${mib}m`, NEIGHBOURS: neighbours.join(' ') };
  const server = endWith(t, new MainProcess(args, environment, { program }));
  const listens = /listens on (http:[^"\s]+)/;
  await eventually('it listens', () => server.hasEnded || listens.test(server.stdout));
  const url = listens.exec(server.stdout)?.[1] ?? '';
  assert.notEqual(url, '', server.stderr);
  return withPosts({ server, url, disk: join('/proc', String(server.pid), 'root', folder), token: '' });
}

/** Makes the collection in the instance of a place. */
async function withPosts(place: Place): Promise<Place> {
  const token = await signIn(place);
  const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'paper', type: 'file', maxSelect: 1 },
  ];
  const made = { ...place, token };
  const { status } = await ask(made, 'POST /api/collections', {
    name: 'posts',
    type: 'base',
    fields,
    ...open,
  });
  assert.equal(status, 200);
  return made;
}

async function ask(
  { url, token }: Pick<Place, 'url' | 'token'>,
  what: string,
  body?: object,
): Promise<Answer> {
  const [method = 'GET', path = '/'] = what.split(' ');
  const isForm = body instanceof FormData;
  const headers = {
    ...(token !== '' && { authorization: token }),
    ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
  };
  const sent = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) };
  const answer = await fetch(url + path, { method, headers, ...sent });
  const text = await answer.text();
  return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) };
}

async function signIn(place: Pick<Place, 'url' | 'token'>): Promise<string> {
  const path = '/api/collections/_superusers/auth-with-password';
  const { status, json } = await ask({ ...place, token: '' }, `POST ${path}`, account);
  assert.equal(status, 200);
  return String(json.token);
}

/** Takes all that is left, or all but so many bytes. */
function fill(disk: string, leftBytes = 0): void {
  const file = openSync(join(disk, 'filler'), 'w');
  const isFull = (): boolean => {
    const { bavail, bsize } = statfsSync(disk);
    return bavail * bsize <= leftBytes;
  };
  try {
    for (let bytes = 1024 * 1024; bytes >= 4096 && !isFull();)
      try {
        writeSync(file, Buffer.alloc(bytes, 1));
      } catch (error) {
        assert.equal(codeOf(error), 'ENOSPC');
        bytes /= 2;
      }
  } finally {
    closeSync(file);
  }
}

/** Creates records until the disk takes no more of them. Returns the ids of those that it took. */
async function createUntilFull(place: Place): Promise<readonly string[]> {
  const ids: string[] = [];
  for (;;) {
    const title = 'x'.repeat(3_000);
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => ask({ ...place, token: '' }, `POST ${posts}`, { title })),
    );
    for (const { status, json } of answers) {
      if (status === 201) ids.push(String(json.id));
      else assert.deepEqual([status, json.message], [507, 'The storage is full.']);
    }
    if (answers.every(({ status }) => status === 507)) return ids;
  }
}

async function readinessOf(place: Place): Promise<string> {
  const { status, json } = await ask(place, 'GET /api/health/ready');
  return status === 200 ? 'ready' : String(json.data.reason);
}

test(
  'a full disk lets a superuser sign in and delete, refuses what takes room, and is left behind when it has room',
  { skip: missing },
  async (t) => {
    const place = await startPlace(t);
    await eventually('the reserve is there', () => readdirSync(place.disk).includes('reserve'));
    const ids: string[] = [];
    for (let n = 0; n < 100; n += 1) {
      const { status, json } = await ask({ ...place, token: '' }, `POST ${posts}`, { title: `post ${n}` });
      assert.equal(status, 201);
      ids.push(String(json.id));
    }
    fill(place.disk);
    const more = await createUntilFull(place);
    const all = ids.length + more.length;
    assert.equal(await readinessOf(place), 'disk');
    assert.equal((await ask(place, `GET ${posts}?perPage=1`)).json.totalItems, all);
    const form = new FormData();
    form.append('paper', new Blob(['x'.repeat(100_000)]), 'paper.txt');
    assert.equal((await ask(place, `POST ${posts}`, form)).status, 507);

    const token = await signIn(place);
    const over = new AbortController();
    const late: Answer[] = [];
    const writers = Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted)
        late.push(await ask({ ...place, token: '' }, `POST ${posts}`, { title: 'y'.repeat(3_000) }));
    });
    const deleted: number[] = [];
    for (const id of ids) deleted.push((await ask({ ...place, token }, `DELETE ${posts}/${id}`)).status);
    over.abort();
    await Promise.all(writers);
    assert.deepEqual(new Set(deleted), new Set([204]));
    assert.deepEqual(
      late.filter(({ status }) => status !== 201 && status !== 507),
      [],
    );
    t.diagnostic(`${all} records before, ${late.length} writes meanwhile`);
    const made = late.filter(({ status }) => status === 201).length;
    const left = all - deleted.length + made;
    assert.equal((await ask(place, `GET ${posts}?perPage=1`)).json.totalItems, left);

    rmSync(join(place.disk, 'filler'));
    await eventually('it is ready', async () => (await readinessOf(place)) === 'ready');
    assert.equal((await ask(place, `POST ${posts}`, { title: 'after' })).status, 201);
    assert.equal((await ask(place, `GET ${posts}?perPage=1`)).json.totalItems, left + 1);
  },
);

test(
  'a backup for which the disk has no room fails in words, leaves nothing behind, and is made when there is room',
  { skip: missing },
  async (t) => {
    const place = await startPlace(t);
    const form = new FormData();
    form.append('paper', new Blob([randomBytes(4 * 1024 * 1024)]), 'paper.bin');
    assert.equal((await ask(place, `POST ${posts}`, form)).status, 201);
    fill(place.disk);
    const filler = join(place.disk, 'filler');
    // Room for the job and half of the file.
    truncateSync(filler, statSync(filler).size - 2 * 1024 * 1024);
    const backups = join(place.disk, 'backups');
    const left = (): readonly string[] => readdirSync(backups, { recursive: true, encoding: 'utf8' });
    const refused = await ask(place, 'POST /api/backups', { name: 'one.zip' });
    assert.deepEqual([refused.status, refused.json.message], [400, 'The storage is full.']);
    assert.deepEqual(left(), ['.partial']);
    assert.equal((await ask(place, `GET ${posts}`)).json.totalItems, 1);

    rmSync(filler);
    await eventually('it is ready', async () => (await readinessOf(place)) === 'ready');
    assert.equal((await ask(place, 'POST /api/backups', { name: 'one.zip' })).status, 204);
    const { json: list } = await ask(place, 'GET /api/backups');
    assert.deepEqual([list.length, list[0].key], [1, 'one.zip']);
    // Neither is there room for the instance that a restore builds beside this one.
    fill(place.disk);
    truncateSync(filler, statSync(filler).size - 2 * 1024 * 1024);
    const { status, json } = await ask(place, 'POST /api/backups/one.zip/restore');
    assert.equal(status, 400);
    assert.match(json.message, /^(?:The storage is full\.|The archive needs \d+ MiB on the disk)/);
    assert.equal((await ask(place, `GET ${posts}`)).json.totalItems, 1);
    assert.equal(left().filter((path) => path.startsWith('.partial/')).length, 0);
  },
);

test(
  'on a disk that is nearly full, the thread of the larger instance refuses its writes, and the other one goes on',
  { skip: missing },
  async (t) => {
    // Far more than the log of a file, which is copied into it at some time.
    const flags = ['--disk-reserve', '40MiB', '--host-threads', '2', '--webhook-bytes', '128MiB'];
    const place = await startPlace(t, { mib: 144, neighbours: [neighbour], flags });
    const other = await withPosts({ ...place, url: `${place.url}/i/${neighbour}` });
    await eventually('the reserve is there', () => readdirSync(place.disk).includes('reserve'));
    const create = (where: Place, bytes: number): Promise<Answer> =>
      ask({ ...where, token: '' }, `POST ${posts}`, { title: 'x'.repeat(bytes) });
    const kept: string[] = [];
    for (let mib = 0; mib < 16; mib += 1) {
      const answers = await Promise.all(Array.from({ length: 256 }, () => create(place, 4_000)));
      for (const { status, json } of answers) {
        assert.equal(status, 201);
        kept.push(String(json.id));
      }
    }
    assert.equal((await create(other, 10)).status, 201);
    fill(place.disk, 36 * 1024 * 1024);
    const refused = await eventually(
      'it is refused',
      async () => {
        const answer = await create(place, 10);
        return answer.status !== 201 && answer;
      },
      20_000,
    );
    assert.deepEqual(
      [refused.status, Object.keys(refused.json.data)],
      [507, ['disk']],
      JSON.stringify(refused.json),
    );
    for (let n = 0; n < 20; n += 1) assert.equal((await create(other, 1_000)).status, 201);
    assert.equal((await ask(place, `GET ${posts}?perPage=1`)).status, 200);
    assert.equal((await ask(place, `DELETE ${posts}/${kept[0]}`)).status, 204);
    assert.equal(await readinessOf(place), 'ready');
    rmSync(join(place.disk, 'filler'));
    await eventually('it is not refused', async () => (await create(place, 10)).status === 201, 20_000);
  },
);
