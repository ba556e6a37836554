import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { MemoryBudget } from './memory-budget.ts';
import { holdUnread } from './unread-answers.ts';

/** More than the buffers of the system between the two take. */
const answerBytes = 32 * 1024 * 1024;

/** A server whose answers are that long, or as short as the path says. */
async function start(
  t: TestContext,
  budget: MemoryBudget,
): Promise<{ readonly ask: (path: string) => Socket }> {
  const server = createServer(({ url }, response: ServerResponse) => {
    response.end('x'.repeat(url === '/short' ? 1_000 : answerBytes));
    holdUnread(response, budget);
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
  const budget = new MemoryBudget(2.5 * answerBytes);
  const { ask } = await start(t, budget);
  const unread: Socket[] = [];
  for (let count = 1; count <= 3; count += 1) {
    unread.push(ask('/long'));
    const least = Math.min(count, 2) * (answerBytes / 2);
    await eventually('it is sent', () => budget.bytes > least);
  }
  const [oldest, ...kept] = unread;
  assert.ok(oldest);
  oldest.resume();
  await once(oldest, 'close');
  assert.ok(oldest.bytesRead < answerBytes);
  for (const socket of kept) socket.resume();
  for (const socket of kept) await eventually('all of it has come', () => socket.bytesRead > answerBytes);
  await eventually('nothing is held any more', () => budget.bytes === 0);
});

test('an answer that is read or short, or whose client leaves, holds nothing', async (t) => {
  const budget = new MemoryBudget(2 * answerBytes);
  const { ask } = await start(t, budget);
  const short = ask('/short');
  short.resume();
  await once(short, 'data');
  assert.equal(budget.bytes, 0);
  const left = ask('/long');
  await eventually('it is sent', () => budget.bytes > 0);
  left.destroy();
  await eventually('nothing is held any more', () => budget.bytes === 0);
});
