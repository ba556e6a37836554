import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { assert } from '../base/assert.ts';
import { readIpAddress } from '../base/ip-address.ts';
import { onConnection } from './on-connection.ts';

const peers = new WeakMap<Socket, Uint8Array>();

/**
 * Notes the peer of each connection when it begins: once the client has reset it, the system no longer knows the peer, while a request
 * that was sent before the reset is still served. A connection that was reset before it was accepted has no known peer and is dropped.
 */
export function notePeers(server: Server): void {
  onConnection(server, (socket) => {
    const address = readPeer(socket.remoteAddress);
    if (address === undefined) socket.destroy();
    else peers.set(socket, address);
  });
}

/** A link-local address comes with a zone, which names an interface of this machine: `fe80::1%eth0`. */
export function readPeer(remoteAddress = ''): Uint8Array | undefined {
  const [address = ''] = remoteAddress.split('%', 1);
  return readIpAddress(address);
}

/** Returns the address at the other end of a request's connection, which may be closed by now. */
export function peerAddress(socket: Socket): Uint8Array {
  const address = peers.get(socket);
  assert(address !== undefined, 'a connection is noted before its first request');
  return address;
}
