import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { Ledger } from '../base/ledger.ts';
import { type Content, sendContent } from './send-content.ts';

const share = { instance: 'a', address: '' };

/** A server that sends content, and clients that do not read what they have asked for. */
async function start(
  t: TestContext,
  sending: Ledger,
  contentOf: () => Content,
): Promise<{ readonly ask: () => Socket }> {
  const server = createServer((_, response: ServerResponse) =>
    sendContent(response, { status: 200, headers: { 'x-frame-options': '' }, share, sending }, contentOf()),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const ask = (): Socket => {
    // A server that listens on a port has such an address.
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => socket.destroy());
    t.after(() => socket.destroy());
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
    return socket;
  };
  return { ask };
}

/** More than the buffers of the system between the two take. */
const length = 32 * 1024 * 1024;
const piece = Buffer.alloc(64 * 1024);

function endless(streams: Readable[]): Content {
  const stream = new Readable({ read: () => void stream.push(piece) });
  streams.push(stream);
  return { length, body: stream };
}

test('of files that nobody reads the oldest is given up where they are too many, and its file closed', async (t) => {
  const streams: Readable[] = [];
  const sending = new Ledger({ max: 2 });
  const { ask } = await start(t, sending, () => endless(streams));
  const clients: Socket[] = [];
  for (let count = 1; count <= 3; count += 1) {
    clients.push(ask());
    await eventually('it is sent', () => streams.length === count);
  }
  await eventually('the oldest is closed', () => streams[0]?.destroyed, 15_000);
  assert.deepEqual([streams[1]?.destroyed, streams[2]?.destroyed, sending.amount], [false, false, 2]);
  const [oldest] = clients;
  assert.ok(oldest);
  oldest.resume();
  await once(oldest, 'close');
  assert.ok(oldest.bytesRead < length);
});

test('a client that goes away closes the file, and one that reads slowly holds no more than a few pieces', async (t) => {
  const streams: Readable[] = [];
  const sending = new Ledger({ max: 2 });
  let read = 0;
  const { ask } = await start(t, sending, () => {
    const content = endless(streams);
    streams.at(-1)?.on('data', ({ length }: Buffer) => (read += length));
    return content;
  });
  const client = ask();
  await eventually('it is sent', () => sending.amount === 1);
  let before = -1;
  // The system takes some of it.
  await eventually('no more is read', () => {
    const isSame = read > 0 && read === before;
    before = read;
    return isSame;
  });
  assert.ok(read < length / 2, String(read));
  client.destroy();
  await eventually('the file is closed', () => streams[0]?.destroyed && sending.amount === 0);
});

test('a client that is gone before anything is sent closes the file', async (t) => {
  const streams: Readable[] = [];
  const gone = Promise.withResolvers<unknown>();
  const server = createServer((_, response: ServerResponse) => {
    response.once('close', () => {
      const content = endless(streams);
      const head = { status: 200, headers: {}, share, sending: new Ledger({ max: 2 }) };
      gone.resolve(sendContent(response, head, content));
    });
    response.req.socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  // A server that listens on a port has such an address.
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => socket.destroy());
  socket.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
  await gone.promise;
  assert.equal(streams[0]?.destroyed, true);
});

test('content that breaks off ends the connection: a client tells by the length', async (t) => {
  const sending = new Ledger({ max: 2 });
  const { ask } = await start(t, sending, () => ({
    length: 10,
    body: Readable.from(
      (async function* () {
        yield Buffer.from('hello');
        throw new Error('The disk is gone.');
      })(),
    ),
  }));
  const client = ask();
  let text = '';
  client.on('data', (bytes: Buffer) => (text += bytes.toString()));
  client.resume();
  await once(client, 'close');
  assert.match(text, /content-length: 10\r\n[^]*\r\n\r\nhello$/);
  assert.doesNotMatch(text, /x-frame-options/);
  assert.equal(sending.amount, 0);
});
