import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, before, describe, test, type TestContext } from 'node:test';
import { ask, startTestPostgres, type TestPostgres } from '../support/postgres.ts';
import { assertRefused, startOnPostgres } from './start-on-postgres.ts';
import { inSample } from '../support/sample.ts';

/** The role `app` has a password. */
const access = 'local all all trust\nhost all postgres all trust\nhost all app all scram-sha-256\n';

describe('a PostgreSQL that cannot be used is told of in one clear line, without the password', () => {
  let server: TestPostgres;
  before(async () => {
    server = await startTestPostgres({ files: { 'pg_hba.conf': access } });
    await ask(server.url, `CREATE ROLE app LOGIN PASSWORD 'sesame'`);
    await ask(server.url, 'CREATE DATABASE foreign_database');
  });
  after(() => server.stop());

  const at = (user: string, database: string): string =>
    `postgres://${user}@127.0.0.1:${new URL(server.url).port}/${database}`;

  test('when the URL cannot be read', async (t) => {
    await assertRefused(t, at('app:open/sesame', 'x'), /The URL of PostgreSQL cannot be read: in a password/);
    await assertRefused(t, 'mysql://root:sesame@127.0.0.1/x', /--postgres must be a URL like postgres:/);
  });

  test('when nobody listens there', async (t) => {
    await assertRefused(t, 'postgres://app:sesame@127.0.0.1:1/x', /at 127\.0\.0\.1:1 .*ECONNREFUSED/);
  });

  test('when somebody else listens there', async (t) => {
    const url = await listen(t, (socket) => {
      socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    });
    await assertRefused(t, url, /cannot be used: Connection terminated/);
  });

  test('when whoever listens there says nothing', async (t) => {
    await assertRefused(t, await listen(t, () => undefined), /cannot be used: .*timeout/);
  });

  test('when the password is wrong or missing', async (t) => {
    await assertRefused(t, at('app:not-sesame', 'postgres'), /password authentication failed for user "app"/);
    await assertRefused(t, at('app', 'postgres'), /cannot be used: .*password/);
  });

  test('when the database, or the rights in it, are not there', async (t) => {
    await assertRefused(t, at('app:sesame', 'none'), /database "none" does not exist/);
    await assertRefused(t, at('app:sesame', 'foreign_database'), /permission denied for database foreign_/);
  });

  test('when a schema of the same name belongs to another program', async (t) => {
    const tables = ['instance (name text)', 'migration (version text)', 'anything (id int)'];
    for (const table of tables.slice(0, inSample(1, 3))) {
      const url = await server.createDatabase();
      await ask(url, `CREATE SCHEMA chancery; CREATE TABLE chancery.${table}`);
      await assertRefused(t, url, /has a schema chancery that belongs to another program/);
    }
    const empty = await server.createDatabase();
    await ask(empty, 'CREATE SCHEMA chancery');
    await startOnPostgres(t, empty).waitForLog(/listens on/);
  });

  test('when it is older than 15', async (t) => {
    const url = await listen(t, (socket) => speakAs(socket, '140005'));
    await assertRefused(t, url, /PostgreSQL 15 or newer is needed, the server has 14\./);
  });

  test('when it may lose what it has acknowledged', async (t) => {
    const careless = await startTestPostgres({ settings: ['fsync=off'] });
    t.after(() => careless.stop());
    await assertRefused(t, careless.url, /may lose acknowledged writes: fsync is off/);
    const url = `${server.url}?options=${encodeURIComponent('-csynchronous_commit=off')}`;
    await assertRefused(t, url, /may lose acknowledged writes: synchronous_commit is off/);
    assert.deepEqual(await ask(server.url, `SELECT 1 FROM pg_namespace WHERE nspname = 'chancery'`), []);
  });
});

/** A server that is none of PostgreSQL's, and the URL that leads to it. */
async function listen(t: TestContext, onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  // A TCP server that is listening has an address of this form.
  return `postgres://app:sesame@127.0.0.1:${(server.address() as AddressInfo).port}/x`;
}

/** Lets anybody in and answers every question with a row that begins with this version, in the messages of the protocol. */
function speakAs(socket: Socket, version: string): void {
  const message = (type: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(type, 'latin1');
    head.writeInt32BE(4 + body.length, 1);
    return Buffer.concat([head, body]);
  };
  const ready = message('Z', Buffer.from('I'));
  const column = Buffer.concat([Buffer.from('a\0'), Buffer.alloc(18)]);
  const values = [version, 'on', 'on', 'off'];
  const count = Buffer.from([0, values.length]);
  const cells = values.map((value) =>
    Buffer.concat([Buffer.from([0, 0, 0, value.length]), Buffer.from(value)]),
  );
  const answer = [
    message('T', Buffer.concat([count, ...values.map(() => column)])),
    message('D', Buffer.concat([count, ...cells])),
    message('C', Buffer.from('SELECT 1\0')),
    ready,
  ];
  let isGreeted = false;
  socket.on('data', () => {
    socket.write(isGreeted ? Buffer.concat(answer) : Buffer.concat([message('R', Buffer.alloc(4)), ready]));
    isGreeted = true;
  });
}
