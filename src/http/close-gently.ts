import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Node takes a connection for idle as soon as its answer was handed over, sent or not, and closing it then gives a slow reader
 * half of it. This makes a server's `closeIdleConnections` wait for unsent bytes: it does nothing while there are any, and
 * is to be called again. And it makes `closeAllConnections` close those that Node has let go of, after a CONNECT, as well.
 */
export function closeGently(server: Server): void {
  const sockets = new Set<Socket>();
  const closeIdle = server.closeIdleConnections.bind(server);
  const closeAll = server.closeAllConnections.bind(server);
  // The 'connection' of a TLS server is the raw socket below the one that its answers go to.
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.closeIdleConnections = () => {
    for (const socket of sockets) if (socket.writableLength > 0) return;
    closeIdle();
  };
  server.closeAllConnections = () => {
    for (const socket of sockets) socket.destroy();
    closeAll();
  };
}
