import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { eventually } from '../../../test/support/eventually.ts';
import { createInstanceDatabase } from '../../../test/support/postgres-database.ts';
import { ask } from '../../../test/support/postgres.ts';
import { listenPostgres } from './listen-postgres.ts';

test('a listener stops at once, also when its server says no more', async (t) => {
  const url = await createInstanceDatabase();
  const muted = new URL(url);
  muted.port = String(await startMuteForwarder(t, Number(muted.port)));
  const { listener } = await listen(url, muted.href);
  const late = sleep(5_000, 'late', { ref: false });
  assert.equal(await Promise.race([listener.stop().then(() => 'stopped'), late]), 'stopped');
});

test('a listener stays, however long its role may be idle', async (t) => {
  const url = await createInstanceDatabase();
  const name = new URL(url).pathname.slice(1);
  await ask(url, `ALTER ROLE CURRENT_USER IN DATABASE ${name} SET idle_session_timeout = 300`);
  const { listener, errors } = await listen(url, url);
  t.after(() => listener.stop());
  // It would be over before this one, which begins later.
  const other = new Client({ connectionString: url });
  const ended = new Promise((resolve) => other.once('end', resolve));
  other.on('error', () => undefined);
  await other.connect();
  await ended;
  assert.deepEqual(errors, []);
});

interface Listening {
  readonly listener: ReturnType<typeof listenPostgres>;
  readonly errors: readonly unknown[];
}

/** By this address; resolves when it hears what is said to the database. */
async function listen(url: string, address: string): Promise<Listening> {
  const heard: string[] = [];
  const errors: unknown[] = [];
  const listener = listenPostgres({
    url: address,
    channel: 'chancery_wake',
    onMessage: (payload) => heard.push(payload),
    onError: (error) => errors.push(error),
  });
  await eventually('it hears', async () => {
    await ask(url, `NOTIFY chancery_wake, 'here'`);
    return heard.includes('here');
  });
  return { listener, errors };
}

/** Passes everything on but that somebody has hung up, as a machine does that is frozen or gone. */
async function startMuteForwarder(t: TestContext, serverPort: number): Promise<number> {
  const forwarder = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port: serverPort, host: '127.0.0.1', allowHalfOpen: true });
    client.pipe(server, { end: false }).pipe(client, { end: false });
    for (const socket of [client, server]) socket.on('error', () => undefined);
    t.after(() => {
      client.destroy();
      server.destroy();
    });
  });
  forwarder.listen(0, '127.0.0.1');
  await once(forwarder, 'listening');
  t.after(() => forwarder.close());
  // A TCP server that is listening has an address of this form.
  return (forwarder.address() as AddressInfo).port;
}
