import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually } from '../../test/support/eventually.ts';
import { MemoryBudget, readBody } from './body.ts';
import { httpLimits } from './connections.ts';

const head = 'POST / HTTP/1.1\r\nHost: a.example\r\n';
const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;

interface Reading {
  readonly client: Socket;
  readonly server: Socket;
  /** The length of the body, or why there is none. */
  readonly read: Promise<string>;
}

/** A connection that has sent the head of a request, whose body is being read. */
async function startReading(t: TestContext, bytes: string, budget?: MemoryBudget): Promise<Reading> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  // A server that listens on a port has such an address.
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => client.destroy());
  client.write(bytes);
  // What a server tells of a request.
  const [request] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const read = readBody(request, budget).then(
    (body) => `${body.length} bytes, ${new Set(body).size} of them different`,
    (error: unknown) => String(error),
  );
  return { client, server: request.socket, read };
}

/** Of this process, in bytes, once nothing is left that nobody needs. */
function usedMemory(): number {
  setFlagsFromString('--expose-gc');
  // What that flag puts into every new context.
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('a body that comes byte by byte takes little more memory than its bytes', async (t) => {
  const { client, server, read } = await startReading(t, chunked);
  const before = usedMemory();
  const pieces = 300_000;
  client.write('1\r\nx\r\n'.repeat(pieces));
  await eventually('all of it has come', () => server.bytesRead >= chunked.length + pieces * 6);
  const perByte = (usedMemory() - before) / pieces;
  assert.ok(perByte < 50, `${perByte} bytes of memory for each of the body`);
  client.write('1\r\ny\r\n0\r\n\r\n');
  assert.equal(await read, `${pieces + 1} bytes, 2 of them different`);
});

test('a small body that comes byte by byte holds no more than a small one may', async (t) => {
  const readings = await Promise.all(Array.from({ length: 100 }, () => startReading(t, chunked)));
  const before = usedMemory();
  const pieces = 1_000;
  for (const { client } of readings) client.write('1\r\nx\r\n'.repeat(pieces));
  for (const { server } of readings)
    await eventually('all of it has come', () => server.bytesRead >= chunked.length + pieces * 6);
  const perBody = (usedMemory() - before) / readings.length;
  assert.ok(perBody < httpLimits.smallBodyBytesMax, `${perBody} bytes of memory for each`);
  for (const { client } of readings) client.write('0\r\n\r\n');
  for (const { read } of readings) assert.equal(await read, `${pieces} bytes, 1 of them different`);
});

test('a body is refused where it passes the limit, and before it comes where that is announced', async (t) => {
  const { bodyBytesMax } = httpLimits;
  const announced = await startReading(t, `${head}Content-Length: ${bodyBytesMax + 1}\r\n\r\n`);
  assert.match(await announced.read, /too large/);
  const grown = await startReading(t, `${chunked}${bodyBytesMax.toString(16)}\r\n`);
  grown.client.write(Buffer.alloc(bodyBytesMax, 'x'));
  grown.client.write('\r\n1\r\ny\r\n');
  assert.match(await grown.read, /too large/);
});

test('where all bodies together are too much the oldest is given up, and none that is small', async (t) => {
  const { smallBodyBytesMax } = httpLimits;
  const large = 3 * smallBodyBytesMax;
  const budget = new MemoryBudget(2 * (large + 1));
  const start = async (length: number): Promise<Reading> => {
    const reading = await startReading(t, `${head}Content-Length: ${length + 1}\r\n\r\n`, budget);
    const before = reading.server.bytesRead;
    reading.client.write(Buffer.alloc(length, 'x'));
    await eventually('all but its last byte has come', () => reading.server.bytesRead === before + length);
    return reading;
  };
  const small = await start(smallBodyBytesMax - 1);
  const [oldest, kept] = [await start(large), await start(large)];
  const ended = await start(large);
  assert.match(await oldest.read, /The service is busy, try again/);
  // What is read, or has no reader any more, makes room.
  ended.client.write('y');
  assert.equal(await ended.read, `${large + 1} bytes, 2 of them different`);
  const left = await start(large);
  left.client.destroy();
  assert.match(await left.read, /aborted/);
  const last = await start(large);
  for (const { client } of [small, kept, last]) client.write('y');
  assert.equal(await small.read, `${smallBodyBytesMax} bytes, 2 of them different`);
  for (const { read } of [kept, last]) assert.equal(await read, `${large + 1} bytes, 2 of them different`);
});

test('a body whose client leaves is none', async (t) => {
  const { client, read } = await startReading(t, `${head}Content-Length: 10\r\n\r\n12345`);
  client.destroy();
  assert.match(await read, /aborted/);
});
