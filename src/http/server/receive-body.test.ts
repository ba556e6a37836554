import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AppError } from '../../base/errors.ts';
import { receiveBody } from './receive-body.ts';

interface Sent {
  /** The announced length; a body without one is sent in chunks. */
  readonly length?: number;
  readonly pieces: readonly string[];
  readonly bytesMax?: number;
}

interface Received {
  readonly path: string;
  readonly code: string | undefined;
}

/** Sends a body to a server that writes it to a file, and returns what it was refused for. */
async function receive(t: TestContext, { length, pieces, bytesMax = 1_000 }: Sent): Promise<Received> {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-body-'));
  const path = join(folder, 'body');
  const received = Promise.withResolvers<string | undefined>();
  const server = createServer((incoming, response) => {
    void receiveBody(incoming, { path, bytesMax })
      .then(
        () => received.resolve(undefined),
        (error: unknown) => received.resolve(error instanceof AppError ? error.code : String(error)),
      )
      .then(() => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  // It listens on a port.
  const { port } = server.address() as AddressInfo;
  const headers = length === undefined ? {} : { 'content-length': length };
  const sending = request({ port, method: 'POST', headers });
  sending.on('error', () => undefined);
  sending.flushHeaders();
  for (const piece of pieces) sending.write(piece);
  if (length === undefined) sending.end();
  return { path, code: await received.promise };
}

test('a body is written to a file, up to its maximum', async (t) => {
  const pieces = Array.from({ length: 10 }, () => 'x'.repeat(100));
  const whole = await receive(t, { pieces });
  assert.equal(whole.code, undefined);
  assert.equal(readFileSync(whole.path, 'utf8'), pieces.join(''));
  assert.equal((await receive(t, { pieces: [...pieces, 'y'] })).code, 'payload_too_large');
  assert.equal((await receive(t, { pieces: [] })).code, 'bad_request');
});

test('a body is refused before it is read when it is too large, or the disk has no room for it', async (t) => {
  const announced = await receive(t, { length: 1_001, pieces: [] });
  assert.deepEqual([announced.code, existsSync(announced.path)], ['payload_too_large', false]);
  const { bavail, bsize } = statfsSync(tmpdir());
  const length = bavail * bsize + 1;
  const larger = await receive(t, { length, pieces: [], bytesMax: 2 * length });
  assert.deepEqual([larger.code, existsSync(larger.path)], ['storage_full', false]);
});
