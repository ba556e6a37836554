import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Returns a port that was free a moment ago, for a program that must be told where to listen. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  server.close();
  await once(server, 'close');
  return address.port;
}
