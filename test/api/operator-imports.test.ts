// Both engines: an archive becomes a file or a schema, and nothing of a refused one is left in either.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { ZipFile } from 'yazl';
import { sql } from '../../src/sql/sql.ts';
import { makePlace, randomKey, readParts } from '../archives/archive-stage.ts';
import { eventually } from '../support/eventually.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { RawConnection } from '../support/raw-http.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const phrase = 'ein langes Paßwort, 100 %';
const path = '/api/operator/instances/import';
const superuser = { identity: 'ann@example.com', password: 'a long password' };

interface Stage {
  readonly service: TestService;
  readonly key: string;
  /** An archive of an instance that is elsewhere, under another master key. */
  readonly archive: Buffer;
  /** Sends a body to the route. */
  readonly send: (
    query: string,
    body?: Uint8Array,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<TestAnswer>;
  /** All rows of the directory, and what lies in the folder for unfinished transfers. */
  readonly traces: () => Promise<readonly unknown[]>;
}

async function startStage(t: TestContext): Promise<Stage> {
  const folder = temporaryFolder(t);
  const source = await makePlace(t, 'sqlite', randomKey());
  await source.run('superuser', 'upsert', superuser.identity, superuser.password);
  const [file, secret] = [join(folder, 'shop.chancery'), join(folder, 'phrase')];
  writeFileSync(secret, phrase);
  await source.run('export', 'default', file, '--passphrase-file', secret);
  const service = await startService(t);
  const { key } = await makeOperatorKey(service);
  const partial = join(service.data, 'backups', '.partial');
  return {
    service,
    key,
    archive: readFileSync(file),
    send: async (query, body = readFileSync(file), headers = {}) => {
      const answer = await fetch(`${service.url}${path}?${query}`, {
        method: 'POST',
        body: new Uint8Array(body),
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/zip',
          'chancery-passphrase': encodeURIComponent(phrase),
          ...headers,
        },
      });
      const text = await answer.text();
      const json: unknown = JSON.parse(text);
      return { status: answer.status, headers: answer.headers, text, json };
    },
    traces: async () => {
      const { control } = service.app.data.home;
      const rows = await control.tuples(
        sql`SELECT slug, state FROM ${control.names.table('$instance')} ORDER BY position`,
      );
      return [...rows, existsSync(partial) ? readdirSync(partial) : []];
    },
  };
}

test('a program makes an instance of an archive that it sends, with a passphrase that nothing keeps', async (t) => {
  const { service, key, send, traces } = await startStage(t);
  const { status, json } = await send('slug=acme&host=acme.example.com');
  assert.equal(status, 201, JSON.stringify(json));
  assert.deepEqual(
    [json.slug, json.host, json.state, new URL(json.url).hostname],
    ['acme', 'acme.example.com', 'active', 'acme.example.com'],
  );
  const signedIn = await service.request('/i/acme/api/collections/_superusers/auth-with-password', {
    method: 'POST',
    body: superuser,
  });
  assert.equal(signedIn.status, 200, signedIn.text);
  const events = await service.request('/api/operator/events', { token: key });
  const items: readonly { readonly kind: string; readonly instance: string }[] = events.json.items;
  const { kind, instance } = items.at(-1) ?? {};
  assert.deepEqual([kind, instance], ['instance.created', json.id]);
  const audit = await service.request(`/api/operator/audit?filter=action='instance.import'`, { token: key });
  const [entry] = audit.json.items;
  assert.deepEqual(
    [audit.json.totalItems, entry.target, entry.details.slug, entry.actor],
    [1, json.id, 'acme', 'operator'],
  );
  assert.deepEqual((await traces()).at(-1), []);
  const { control } = service.app.data.home;
  const { names } = control;
  const stored = [
    ...(await control.all(sql`SELECT * FROM ${names.table('$transfer')}`)),
    ...(await control.all(sql`SELECT * FROM ${names.table('$audit')} WHERE ${names.instance.condition}`)),
    service.log,
  ];
  for (const text of [phrase, encodeURIComponent(phrase)]) assert.ok(!JSON.stringify(stored).includes(text));
});

test('an archive of an instance that is still there makes a copy of it beside it, or nothing', async (t) => {
  const { send, traces } = await startStage(t);
  const first = await send('slug=acme');
  const before = await traces();
  const again = await send('slug=other');
  assert.deepEqual(
    [again.status, again.json.message],
    [400, 'The instance is still there as acme: its id is not free.'],
  );
  assert.deepEqual(await traces(), before);
  const copy = await send('slug=other&copy=true', undefined, { 'content-type': 'application/octet-stream' });
  assert.equal(copy.status, 201, copy.text);
  assert.notEqual(copy.json.id, first.json.id);
});

test('a template is downloaded, and imported as a new instance without accounts', async (t) => {
  const { service, key, send } = await startStage(t);
  const download = (query: string): Promise<Response> =>
    fetch(`${service.url}/api/operator/instances/default/archive?${query}`, {
      headers: { authorization: `Bearer ${key}` },
    });
  assert.equal((await download('template=perhaps')).status, 400);
  const template = new Uint8Array(await (await download('template=true')).arrayBuffer());
  const { json } = await send('slug=acme', template);
  assert.deepEqual([json.slug, json.state, json.labels], ['acme', 'active', {}]);
  const rows = await service.withInstance('acme', ({ database }) =>
    database.tuples(sql`SELECT count(*) FROM ${database.names.collectionTable('_superusers')}`),
  );
  assert.equal(Number(rows[0]?.[0]), 0);
  assert.equal((await send('slug=beta&backup=true', template)).status, 400);
});

test('what is no whole archive, or does not fit to the request, is refused, and nothing of it is left', async (t) => {
  const { service, send, archive, traces } = await startStage(t);
  await service.app.data.directory.create('shop', 'shop.example.com');
  const before = await traces();
  const zip = (bytes: Uint8Array): [Uint8Array] => [bytes];
  const cases: readonly (readonly [
    status: number,
    message: RegExp,
    query: string,
    body?: Uint8Array | undefined,
    headers?: Readonly<Record<string, string>>,
  ])[] = [
    [
      415,
      /Expected a body of the type application\/zip or/,
      'slug=acme',
      undefined,
      { 'content-type': 'application/json' },
    ],
    [
      415,
      /Expected a body of the type/,
      'slug=acme',
      undefined,
      { 'content-type': 'multipart/form-data; boundary=x' },
    ],
    [415, /Expected a body of the type/, 'slug=acme', undefined, { 'content-type': 'text/plain' }],
    [400, /Expected an archive as the body/, 'slug=acme', ...zip(new Uint8Array())],
    [400, /The archive cannot be used/, 'slug=acme', ...zip(Buffer.from('no zip'))],
    [400, /The archive cannot be used/, 'slug=acme', ...zip(archive.subarray(0, -100))],
    [400, /The archive cannot be used/, 'slug=acme', ...zip(archive.subarray(100))],
    [
      400,
      /the passphrase is another one/,
      'slug=acme',
      undefined,
      { 'chancery-passphrase': 'something%20else' },
    ],
    [
      400,
      /Expected Chancery-Passphrase to be percent-encoded/,
      'slug=acme',
      undefined,
      { 'chancery-passphrase': '%' },
    ],
    [400, /A slug has 2 to 40 characters/, ''],
    [400, /A slug has 2 to 40 characters/, 'slug=A'],
    [400, /The slug shop belongs to another instance/, 'slug=shop'],
    [400, /is not a host name/, 'slug=acme&host=a_b'],
    [400, /The host shop.example.com is bound to another/, 'slug=acme&host=shop.example.com'],
    [400, /Expected copy to be true or false/, 'slug=acme&copy=perhaps'],
    [400, /Expected copy or backup, not both/, 'slug=acme&copy=true&backup=true'],
  ];
  for (const [status, message, query, body, headers] of cases) {
    const answer = await send(query, body, headers);
    assert.equal(answer.status, status, `${query} ${answer.text}`);
    assert.match(answer.json.message, message);
    assert.deepEqual(await traces(), before, query);
  }
  const taken = await send('slug=shop');
  assert.equal(taken.json.data.slug.code, 'validation_invalid_value');
  assert.equal((await send('slug=acme')).status, 201);
});

test('an archive that nobody has exported is refused in words, whatever its digests say', async (t) => {
  const folder = temporaryFolder(t);
  const source = await makePlace(t, 'sqlite');
  await source.run('superuser', 'upsert', superuser.identity, superuser.password);
  const file = join(folder, 'whole.chancery');
  await source.run('export', 'default', file);
  const parts = await readParts(file);
  const { send, traces } = await startStage(t);
  const before = await traces();
  const [collections, records] = ['tables/collection.ndjson', 'records/_superusers.ndjson'];
  const cases: readonly (readonly [name: string, from: RegExp, to: string])[] = [
    [collections, /\\"type\\":\\"text\\"/, String.raw`\"type\":\"cake\"`],
    [collections, /"name":"_superusers"/, '"name":null'],
    [collections, /^.*\n/, '$&$&'],
    [records, /^.*\n/, '$&$&'],
    [records, /"id":"[^"]*"/, '"id":null'],
    [records, /"\$position":\d+/, '"$position":1.5'],
  ];
  for (const [name, from, to] of cases) {
    const content = parts.get(name) ?? '';
    const altered = content.replace(from, to);
    assert.notEqual(altered, content, name);
    const { status, json } = await send('slug=acme', await archiveOf(new Map([...parts, [name, altered]])));
    assert.deepEqual([status, Object.keys(json.data)], [400, []], `${from} ${json.message}`);
    assert.match(json.message, /The archive cannot be used|cannot be stored/);
    assert.deepEqual(await traces(), before);
  }
});

/** Writes an archive with these contents and their digests. */
async function archiveOf(parts: ReadonlyMap<string, string>): Promise<Buffer> {
  const digestOf = (text: string): string =>
    createHash('sha256').update(Buffer.from(text, 'latin1')).digest('hex');
  const lines = (parts.get('parts.ndjson') ?? '').trim().split('\n');
  const list = lines.map((line) => {
    // An export has written it.
    const part = JSON.parse(line) as { name: string; bytes: number; rows?: number };
    const text = parts.get(part.name) ?? '';
    const rows = part.rows === undefined ? {} : { rows: text.split('\n').length - 1 };
    return `${JSON.stringify({ ...part, sha256: digestOf(text), bytes: text.length, ...rows })}\n`;
  });
  // As above.
  const manifest = JSON.parse(parts.get('manifest.json') ?? '') as object;
  const listed = list.join('');
  const zip = new ZipFile();
  for (const [name, content] of parts)
    if (!['parts.ndjson', 'manifest.json'].includes(name))
      zip.addBuffer(Buffer.from(content, 'latin1'), name);
  zip.addBuffer(Buffer.from(listed), 'parts.ndjson');
  zip.addBuffer(Buffer.from(JSON.stringify({ ...manifest, parts: digestOf(listed) })), 'manifest.json');
  zip.end();
  // The types of yazl know it as the interface of readable streams.
  return buffer(zip.outputStream as Readable);
}

test('what is refused before the body is read is refused without it', async (t) => {
  const { service, key, archive, traces } = await startStage(t);
  const { key: writer } = await makeOperatorKey(service, ['instances:write']);
  const before = await traces();
  const ask = async (token: string, query: string, length: number): Promise<string> => {
    const connection = RawConnection.open(t, service.url);
    connection.send(
      [
        `POST ${path}?${query} HTTP/1.1`,
        'Host: localhost',
        `Authorization: Bearer ${token}`,
        'Content-Type: application/zip',
        `Content-Length: ${length}`,
        'Expect: 100-continue',
        '',
        '',
      ].join('\r\n'),
    );
    const [answer] = await connection.waitForAnswers(1);
    return `${answer?.status} ${answer?.body}`;
  };
  assert.match(await ask(writer, 'slug=acme', archive.length), /^403 .*scope admin/);
  assert.match(await ask('co_wrong', 'slug=acme', archive.length), /^401 /);
  assert.match(await ask(key, 'slug=default', archive.length), /^400 .*belongs to another instance/);
  assert.match(await ask(key, 'slug=acme', 16 * 1024 ** 3 + 1), /^413 /);
  assert.deepEqual(await traces(), before);
});

test('a body that is cut leaves nothing, and of many at once a fifth is refused', async (t) => {
  const { service, key, archive, send, traces } = await startStage(t);
  const before = await traces();
  const begin = (query: string): RawConnection => {
    const connection = RawConnection.open(t, service.url);
    connection.send(
      [
        `POST ${path}?${query} HTTP/1.1`,
        'Host: localhost',
        `Authorization: Bearer ${key}`,
        'Content-Type: application/zip',
        `Chancery-Passphrase: ${encodeURIComponent(phrase)}`,
        `Content-Length: ${archive.length}`,
        '',
        '',
      ].join('\r\n'),
    );
    connection.send(archive.subarray(0, 1_000));
    return connection;
  };
  const folder = join(service.data, 'backups', '.partial');
  const received = (): number => (existsSync(folder) ? readdirSync(folder).length : 0);
  const connections = ['one', 'two', 'three', 'four'].map((slug) => begin(`slug=${slug}`));
  await eventually('all are received', () => received() === 4);
  const fifth = await send('slug=five');
  assert.deepEqual([fifth.status, fifth.headers.get('retry-after')], [503, '1']);
  for (const connection of connections.slice(1)) connection.socket.destroy();
  await eventually('three are gone', () => received() === 1);
  // Once all of it was received, the import needs its client no more.
  connections[0]?.socket.end(archive.subarray(1_000));
  await eventually('the first is imported', async () =>
    (await traces()).some((row) => JSON.stringify(row) === '["one","active"]'),
  );
  await eventually('nothing is left', () => received() === 0);
  assert.equal((await traces()).length, before.length + 1);
});

test('a client may wait for as long as an instance is large', async (t) => {
  const { service, send } = await startStage(t);
  const times: number[] = [];
  service.app.server.server.on('connection', (socket) => {
    const set = socket.setTimeout.bind(socket);
    socket.setTimeout = (ms, ...more) => {
      times.push(ms);
      return set(ms, ...more);
    };
  });
  assert.equal((await send('slug=acme')).status, 201);
  const from = times.indexOf(0);
  assert.ok(from >= 0 && times.slice(from).includes(300_000), times.join(', '));
});

test('files of transfers that were cut off are removed a day later', async (t) => {
  const data = temporaryFolder(t);
  const backups = join(data, 'backups');
  const files = ['.partial/old', '.partial/new', '.archives/shop/old', '.archives/shop/new', 'shop/old.zip'];
  for (const name of files) {
    const file = join(backups, name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, name);
    const hours = name.includes('old') ? 25 : 23;
    const time = new Date(Date.now() - hours * 3_600_000);
    utimesSync(file, time, time);
  }
  await startService(t, { data });
  await eventually('the old ones are gone', () =>
    files.every((name) => existsSync(join(backups, name)) !== (name.includes('old') && name.startsWith('.'))),
  );
});
