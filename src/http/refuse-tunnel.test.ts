import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { test, type TestContext } from 'node:test';
import { RawConnection, rawRequest } from '../../test/support/raw-http.ts';
import { closeGently, noteLatestAnswers } from './connections.ts';
import { refuseTunnel } from './error-response.ts';

const tunnel = rawRequest('CONNECT a.example:443');

/** A server whose requests are never answered, and a connection to it. */
async function openSilent(
  t: TestContext,
): Promise<{ readonly server: Server; readonly client: RawConnection }> {
  const server = createServer();
  noteLatestAnswers(server);
  closeGently(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { server, client: RawConnection.open(t, `http://127.0.0.1:${address.port}`) };
}

test('a client that asks for a tunnel and is gone ends its connection, and not the process', async (t) => {
  const { server, client } = await openSilent(t);
  const closed = new Promise<void>((resolve) => {
    server.on('connect', (request, socket) => {
      client.socket.once('close', () => {
        socket.on('close', resolve);
        refuseTunnel(request, socket);
      });
      client.socket.resetAndDestroy();
    });
  });
  client.send(tunnel);
  await closed;
});

test('a tunnel that waits for answers which nobody gets is closed when nothing has moved for too long', async (t) => {
  const { server, client } = await openSilent(t);
  server.on('connect', refuseTunnel);
  server.setTimeout(50);
  client.send(rawRequest('GET /') + tunnel);
  await client.waitForEnd();
  assert.deepEqual(client.answers, []);
});

test('a tunnel that waits is closed with all connections', async (t) => {
  const { server, client } = await openSilent(t);
  server.on('connect', refuseTunnel);
  client.send(rawRequest('GET /') + tunnel);
  await once(server, 'connect');
  server.closeAllConnections();
  await client.waitForEnd();
});
