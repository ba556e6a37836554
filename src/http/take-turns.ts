import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { answerAhead } from './latest-answer.ts';

/**
 * Begins with a request as soon as it came; for clients that do not wait for answers, one request in a turn of the loop, when the answer
 * before it on its connection is out. All at once, the hundreds of requests that fit into one read would have the whole process to
 * themselves, and their answers its memory until they are read. To be called before anything else hears of the request.
 */
export function takeTurns({ socket }: IncomingMessage, begin: () => void): void {
  const ahead = answerAhead(socket);
  if (ahead === undefined) return begin();
  holdBack(socket);
  const goOn = (): void => {
    // Nobody would hear of what came of it.
    if (!socket.writable) return;
    letGo(socket);
    begin();
  };
  if (ahead.closed) setImmediate(goOn);
  else ahead.once('close', () => setImmediate(goOn));
}

/** How many requests of a connection wait for their turn. */
const waiting = new WeakMap<Socket, number>();

/** Reads no more of a connection while any of its requests waits: what is read is parsed, and would wait as well. */
function holdBack(socket: Socket): void {
  const count = waiting.get(socket) ?? 0;
  waiting.set(socket, count + 1);
  // Node goes on with reading whenever somebody asks for a body, or has answered and wants none.
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
