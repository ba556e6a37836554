import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerClientError } from './answer-client-error.ts';

/**
 * Answers CONNECT. Node has let go of its connection by then: unheard, an error of it would end the process, and where the answers
 * before this one are not read, it would never end itself.
 */
export function refuseTunnel(_request: IncomingMessage, socket: Duplex): void {
  for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
  answerClientError(new Error('This is no proxy.'), socket);
}
