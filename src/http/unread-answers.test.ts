import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { UnreadAnswers } from './answer.ts';

/** More than the buffers of the system between the two take. */
const answerBytes = 32 * 1024 * 1024;

/** A server whose answers are that long, or as short as the path says. */
async function start(
  t: TestContext,
  unread: UnreadAnswers,
): Promise<{ readonly ask: (path: string) => Socket }> {
  const server = createServer(({ url }, response: ServerResponse) => {
    const text = 'x'.repeat(url === '/short' ? 1_000 : answerBytes);
    response.end(text);
    unread.hold(response, text.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const ask = (path: string): Socket => {
    // A server that listens on a port has such an address.
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => socket.destroy());
    t.after(() => socket.destroy());
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a.example\r\n\r\n`);
    return socket;
  };
  return { ask };
}

test('of answers that nobody reads the oldest is given up where they are too much together', async (t) => {
  const answers = new UnreadAnswers(2.5 * answerBytes);
  const { ask } = await start(t, answers);
  const unread: Socket[] = [];
  for (let count = 1; count <= 3; count += 1) {
    unread.push(ask('/long'));
    const least = Math.min(count, 2) * (answerBytes / 2);
    await eventually('it is sent', () => answers.bytes > least);
  }
  const [oldest, ...kept] = unread;
  assert.ok(oldest);
  oldest.resume();
  await once(oldest, 'close');
  assert.ok(oldest.bytesRead < answerBytes);
  for (const socket of kept) socket.resume();
  for (const socket of kept) await eventually('all of it has come', () => socket.bytesRead > answerBytes);
  await eventually('nothing is held any more', () => answers.bytes === 0);
});

test('an answer that is read or short, or whose client leaves, holds nothing', async (t) => {
  const answers = new UnreadAnswers(2 * answerBytes);
  const { ask } = await start(t, answers);
  const short = ask('/short');
  short.resume();
  await once(short, 'data');
  assert.equal(answers.bytes, 0);
  const left = ask('/long');
  await eventually('it is sent', () => answers.bytes > 0);
  left.destroy();
  await eventually('nothing is held any more', () => answers.bytes === 0);
});

test('the next answer waits until the memory of those given up is free, and none waits otherwise', async (t) => {
  const answers = new UnreadAnswers(1.5 * answerBytes);
  const { ask } = await start(t, answers);
  ask('/long');
  await eventually('it is sent', () => answers.bytes > 0);
  assert.equal(answers.untilFreed(), undefined);
  const closed = new Promise<void>((resolve) => {
    const look = (): void => {
      const freed = answers.untilFreed();
      if (freed === undefined) setImmediate(look);
      else resolve(freed);
    };
    look();
  });
  ask('/long');
  await closed;
  assert.equal(answers.untilFreed(), undefined);
  assert.equal(answers.bytes, answerBytes);
});
