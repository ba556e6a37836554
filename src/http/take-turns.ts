import type { IncomingMessage } from 'node:http';
import { answerAhead } from './latest-answer.ts';

/**
 * Begins with a request as soon as it came, or when the answer before it on its connection is out, for clients that do not wait for
 * answers. All at once, the hundreds of requests that fit into one read would have the whole process to themselves, and their
 * answers its memory until they are read. To be called before anything else hears of the request.
 */
export function takeTurns({ socket }: IncomingMessage, begin: () => void): void {
  const ahead = answerAhead(socket);
  if (ahead === undefined) return begin();
  // What is read is parsed, and would wait as well.
  socket.pause();
  ahead.once('close', () => {
    // Nobody would hear of what came of it.
    if (!socket.writable) return;
    socket.resume();
    begin();
  });
}
