import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerClientError } from './answer-client-error.ts';

/**
 * Refuses a CONNECT. Node has let go of the connection by then: without listeners an error on it would end the process, and a
 * connection whose client does not read the answers before this one would stay open for ever.
 */
export function refuseTunnel(_request: IncomingMessage, socket: Duplex): void {
  for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
  answerClientError(new Error('This is no proxy.'), socket);
}
