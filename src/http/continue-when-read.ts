import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/**
 * Lets clients that wait with their body for `100 Continue` send it only once it is read. A request that is refused before gets its
 * refusal at once, and the body is never sent. Node then closes the connection, because the client may send the body all the same.
 */
export function continueWhenRead(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Node also reads the rest of a body after the answer, to discard it.
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    server.emit('request', request, response);
  });
}
