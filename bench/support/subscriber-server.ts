/**
 * Many clients of realtime in one process, each a connection with one subscription, which note when each record was told. They read
 * the bytes of the sockets themselves: a client for Server-Sent Events would take the processors for longer than the service does.
 *
 *   PUT /connect   opens connections as in its body, a `Connecting`; answers when all of them have subscribed
 *   PUT /told      answers when each of the records in its body has been told as often as there, an `Awaited`, or after a minute with
 *                  504: for each record when it was told first, when last, and how often, in milliseconds by `monotonicMs`
 *   GET /          how many connections are open
 *   PUT /close     closes all connections, and forgets what was told
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { monotonicMs } from './monotonic-ms.ts';
import type { Awaited, Connecting, Told } from './subscribers.ts';

const connectingMax = 64;
/** What was not told by then was lost. */
const lostAfterMs = 60_000;

const sockets = new Set<Socket>();
const told = new Map<string, Told>();
/** What is waited for: that a record was told so often. */
let waiting: { readonly id: string; readonly count: number; readonly resolve: () => void } | undefined;

function takeMessage(message: string, atMs: number): void {
  const id = memberOf(message, 'id');
  if (id === undefined) return;
  const known = told.get(id);
  const count = (known?.count ?? 0) + 1;
  told.set(id, { firstMs: known?.firstMs ?? atMs, lastMs: atMs, count });
  if (waiting?.id === id && count >= waiting.count) waiting.resolve();
}

/** Returns the first text that has this name in a message. */
function memberOf(message: string, name: string): string | undefined {
  const mark = `"${name}":"`;
  const at = message.indexOf(mark);
  if (at === -1) return undefined;
  return message.slice(at + mark.length, message.indexOf('"', at + mark.length));
}

/** Opens a connection; returns the id of its client. */
function openStream({ hostname, port, host, pathname }: URL): Promise<string> {
  const socket = connect(Number(port), hostname);
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  return new Promise((resolve, reject) => {
    let rest = '';
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`A realtime connection was closed: ${rest}`)));
    socket.on('data', (chunk: Buffer) => {
      const atMs = monotonicMs();
      // Nothing but the end of a message has two line feeds in a row.
      const messages = (rest + chunk.toString('latin1')).split('\n\n');
      rest = messages.pop() ?? '';
      for (const message of messages) {
        const clientId = memberOf(message, 'clientId');
        if (clientId === undefined) takeMessage(message, atMs);
        else resolve(clientId);
      }
    });
    socket.write(`GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  });
}

async function connectAll({ url, topic, count, tokens }: Connecting): Promise<void> {
  const realtime = new URL('/api/realtime', url);
  let next = 0;
  const connectSome = async (): Promise<void> => {
    while (next < count) {
      const token = tokens?.[next % tokens.length];
      next += 1;
      const clientId = await openStream(realtime);
      const response = await fetch(realtime, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: token }),
        },
        body: JSON.stringify({ clientId, subscriptions: [topic] }),
      });
      if (!response.ok) throw new Error(`A subscription was refused: ${await response.text()}`);
    }
  };
  await Promise.all(Array.from({ length: connectingMax }, connectSome));
}

async function awaitTold({ ids, count }: Awaited): Promise<readonly Told[] | undefined> {
  const signal = AbortSignal.timeout(lostAfterMs);
  for (const id of ids) {
    if ((told.get(id)?.count ?? 0) < count)
      await new Promise<void>((resolve) => {
        waiting = { id, count, resolve };
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    if (signal.aborted) return undefined;
  }
  return ids.flatMap((id) => told.get(id) ?? []);
}

function closeAll(): void {
  for (const socket of sockets) socket.destroy();
  told.clear();
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // Orders have the form that they are cast to, as who gives them is subscribers.ts.
  const order = (): Promise<unknown> => text(request).then(JSON.parse);
  // The form of this order.
  if (request.url === '/connect') await connectAll((await order()) as Connecting);
  if (request.url === '/close') closeAll();
  // The form of that one.
  const found = request.url === '/told' ? await awaitTold((await order()) as Awaited) : sockets.size;
  if (found === undefined) response.statusCode = 504;
  response.end(JSON.stringify(found ?? 'not all of them were told'));
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    response.statusCode = 500;
    response.end(String(error));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null)
    process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
