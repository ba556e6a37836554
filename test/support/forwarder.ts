import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** An address on loopback that leads to one server and later to another, as the address of a cluster does. */
export class Forwarder {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number | undefined;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  static async open(target: number): Promise<Forwarder> {
    const forwarder = new Forwarder(target);
    forwarder.#server.listen(0, '127.0.0.1');
    await once(forwarder.#server, 'listening');
    return forwarder;
  }

  get port(): number {
    // The cast holds: a TCP server that is listening has such an address.
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends all open connections. New ones are forwarded to this port, or ended at once if it is undefined. */
  pointTo(target: number | undefined): void {
    this.#target = target;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.pointTo(undefined);
    await once(this.#server, 'close');
  }

  #join(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#target === undefined) return void client.destroy();
    const server = connect(this.#target, '127.0.0.1');
    server.on('error', () => undefined);
    for (const socket of [client, server]) {
      this.#sockets.add(socket.setNoDelay(true));
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server).pipe(client);
  }
}
