import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually } from '../../test/support/eventually.ts';
import { Ledger } from '../base/ledger.ts';
import { readBody } from './read-body.ts';
import { httpLimits } from './connections.ts';
import { UnfinishedBodies } from './unfinished-bodies.ts';

const head = 'POST / HTTP/1.1\r\nHost: a.example\r\n';
const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;

interface Reading {
  readonly client: Socket;
  readonly server: Socket;
  /** The length of the body, or why there is none. */
  readonly read: Promise<string>;
}

interface Sender {
  readonly bodies: UnfinishedBodies;
  readonly address: string;
}

/** A connection that has sent the head of a request, whose body is being read. */
async function startReading(
  t: TestContext,
  bytes: string,
  { bodies = new UnfinishedBodies(new Ledger({ max: 1024 ** 3 })), address = 'a' }: Partial<Sender> = {},
): Promise<Reading> {
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
  const read = readBody(request, { bodies, share: { instance: 'a', address } }).then(
    ({ bytes, release }) => {
      release();
      return `${bytes.length} bytes, ${new Set(bytes).size} of them different`;
    },
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
  assert.ok(perBody < 64 * 1024, `${perBody} bytes of memory for each`);
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

const step = 64 * 1024;

/** Sends all of a body but its last byte. */
async function startBody(
  t: TestContext,
  bodies: UnfinishedBodies,
  { address = 'a', length = 4 * step - 1 }: { readonly address?: string; readonly length?: number } = {},
): Promise<Reading> {
  const reading = await startReading(t, `${head}Content-Length: ${length + 1}\r\n\r\n`, { bodies, address });
  const before = reading.server.bytesRead;
  reading.client.write(Buffer.alloc(length, 'x'));
  await eventually('all but its last byte has come', () => reading.server.bytesRead === before + length);
  return reading;
}

test('where the bodies of an instance are too much the slowest is refused, and the memory of each is released', async (t) => {
  const ledger = new Ledger({ max: 10 * step });
  const bodies = new UnfinishedBodies(ledger);
  const slow = await startBody(t, bodies, { address: 'slow', length: step - 1 });
  const [first, second] = [
    await startBody(t, bodies, { address: 'b' }),
    await startBody(t, bodies, { address: 'c' }),
  ];
  const third = await startBody(t, bodies, { address: 'd' });
  assert.match(await slow.read, /too slow/);
  const ended = [first, second, third];
  for (const { client } of ended) client.write('y');
  const results = await Promise.all(ended.map(({ read }) => read));
  assert.equal(results.filter((result) => result.endsWith('2 of them different')).length, 2, results.join());
  assert.equal(ledger.amount, 0);
});

test('an address may have a tenth of the share in unfinished bodies, or one body', async (t) => {
  const ledger = new Ledger({ max: 60 * step });
  const bodies = new UnfinishedBodies(ledger);
  const large = await startBody(t, bodies, { address: 'large', length: 20 * step - 1 });
  const [slowest, kept] = [await startBody(t, bodies, { length: step - 1 }), await startBody(t, bodies)];
  const last = await startBody(t, bodies, { length: 2 * step - 1 });
  assert.match(await slowest.read, /too slow/);
  for (const { client } of [large, kept, last]) client.write('y');
  for (const { read } of [large, kept, last]) assert.match(await read, /2 of them different/);
  assert.equal(ledger.amount, 0);
});

test('what a client only announces costs it nothing, and one that leaves gives back its memory', async (t) => {
  const ledger = new Ledger({ max: 60 * step });
  const bodies = new UnfinishedBodies(ledger);
  const announced = await startReading(t, `${head}Content-Length: 5000000\r\n\r\n`, { bodies });
  assert.equal(ledger.amount, 0);
  const begun = await startBody(t, bodies);
  assert.ok(ledger.amount >= 4 * step, String(ledger.amount));
  for (const { client, read } of [announced, begun]) {
    client.destroy();
    assert.match(await read, /aborted/);
  }
  assert.equal(ledger.amount, 0);
});

test('a body whose client leaves is none', async (t) => {
  const { client, read } = await startReading(t, `${head}Content-Length: 10\r\n\r\n12345`);
  client.destroy();
  assert.match(await read, /aborted/);
});
