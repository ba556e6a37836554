import type { IncomingMessage } from 'node:http';

/** Long enough for a client to come to the end of its body, or to see the answer and stop. */
const lingerMs = 5_000;

/**
 * Call it before the last answer of a connection, with the request that it is for. Node closes the connection right after the answer;
 * from a client that is still sending its body the next bytes would then reset it, and the client would see a broken connection in
 * place of the answer. So only our side is ended, and what still comes is discarded, for a few seconds.
 */
export function linger(request: IncomingMessage): void {
  const { socket } = request;
  const closeNow = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    if (request.complete) return closeNow();
    socket.end();
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(timer));
  };
}
