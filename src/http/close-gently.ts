import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { onConnection } from './on-connection.ts';

/**
 * Makes a server's `closeIdleConnections` do nothing while any connection has unsent bytes; call it repeatedly. Node counts a
 * connection as idle as soon as its answer was handed over, sent or not, and closing it then would truncate the answer for a slow
 * reader. Also makes `closeAllConnections` close the connections that Node has let go of after a CONNECT.
 */
export function closeGently(server: Server): void {
  const sockets = new Set<Socket>();
  const closeIdle = server.closeIdleConnections.bind(server);
  const closeAll = server.closeAllConnections.bind(server);
  onConnection(server, (socket) => {
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
