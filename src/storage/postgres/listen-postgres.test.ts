import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import { ask, openTestPostgres } from '../../../test/support/postgres.ts';
import { listenPostgres } from './listen-postgres.ts';

test('a listener stops at once, also when its server says no more', async (t) => {
  const { url } = await openTestPostgres();
  const muted = new URL(url);
  muted.port = String(await startMuteForwarder(t, Number(muted.port)));
  const heard: string[] = [];
  const listener = listenPostgres({
    url: muted.href,
    channel: 'chancery_wake',
    onMessage: (payload) => heard.push(payload),
    onError: () => undefined,
  });
  await eventually('it hears', async () => {
    await ask(url, `NOTIFY chancery_wake, 'here'`);
    return heard.includes('here');
  });
  const late = sleep(5_000, 'late', { ref: false });
  assert.equal(await Promise.race([listener.stop().then(() => 'stopped'), late]), 'stopped');
});

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
