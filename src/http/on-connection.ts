import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Calls `listener` with each connection of a server, before its first request. */
export function onConnection(server: Server, listener: (socket: Socket) => void): void {
  // The 'connection' of a TLS server is the raw socket below the one that its answers go to.
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', listener);
}
