import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { answerAhead } from './latest-answer.ts';

/**
 * Begins a request at once. For a client that pipelines, begins one request per turn of the event loop, when the answer before it on
 * its connection was sent. Otherwise the hundreds of requests that fit into one read would occupy the whole process, and their
 * answers its memory until they are read. Must be called before anything else sees the request.
 */
export function takeTurns({ socket }: IncomingMessage, begin: () => void): void {
  // The last answer of the connection was sent: what comes behind its request is discarded.
  if (socket.writableEnded) return;
  const ahead = answerAhead(socket);
  if (ahead === undefined) return begin();
  holdBack(socket);
  const goOn = (): void => {
    // The connection has ended, so no answer could be sent.
    if (!socket.writable) return;
    letGo(socket);
    begin();
  };
  if (ahead.closed) setImmediate(goOn);
  else ahead.once('close', () => setImmediate(goOn));
}

/** Number of requests of each connection that wait for their turn. */
const waiting = new WeakMap<Socket, number>();

/** Stops reading from a connection while any of its requests waits: whatever is read is parsed, and would wait as well. */
function holdBack(socket: Socket): void {
  const count = waiting.get(socket) ?? 0;
  waiting.set(socket, count + 1);
  // Node resumes reading whenever a body is asked for, or when a request is answered without reading its body.
  if (count === 0) socket.on('resume', pauseAgain);
  socket.pause();
}

function letGo(socket: Socket): void {
  const count = (waiting.get(socket) ?? 1) - 1;
  waiting.set(socket, count);
  if (count > 0) return;
  socket.off('resume', pauseAgain);
  socket.resume();
}

function pauseAgain(this: Socket): void {
  this.pause();
}
