import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** How a proxy behaves towards every request. */
export type ConnectProxyMode =
  | { readonly kind: 'tunnel' }
  /** Answers with these bytes, and closes the connection if it says so. */
  | { readonly kind: 'raw'; readonly bytes: string; readonly isClosed?: boolean }
  | { readonly kind: 'silence' }
  | { readonly kind: 'close' };

/** A real HTTP proxy on a free loopback port, which knows CONNECT alone. */
export class ConnectProxy implements AsyncDisposable {
  mode: ConnectProxyMode = { kind: 'tunnel' };
  /** The target of each request: `127.0.0.1:8443`. */
  readonly targets: string[] = [];
  /** The headers of each request, as they came. */
  readonly heads: string[] = [];
  connectionCount = 0;
  /** Where public addresses lead in this test; others are connected to as they are. */
  readonly routes = new Map<string, number>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer((client) => this.#accept(client));
  }

  static async open(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy();
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    // The cast holds: a TCP server that is listening has such an address.
    return (this.#server.address() as AddressInfo).port;
  }

  cutConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cutConnections();
    if (this.#server.listening) await once(this.#server, 'close');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #accept(client: Socket): void {
    this.connectionCount += 1;
    this.#keep(client);
    let head = '';
    const onData = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      client.off('data', onData);
      this.heads.push(head);
      const target = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1] ?? '';
      this.targets.push(target);
      this.#answer(client, target);
    };
    client.on('data', onData);
  }

  #answer(client: Socket, target: string): void {
    const { mode } = this;
    if (mode.kind === 'silence') return;
    if (mode.kind === 'close') return void client.destroy();
    if (mode.kind === 'raw') {
      client.write(mode.bytes, 'latin1', () => {
        if (mode.isClosed === true) client.destroy();
      });
      return;
    }
    const at = target.lastIndexOf(':');
    const host = target.slice(0, at).replace(/^\[(.*)\]$/, '$1');
    const route = this.routes.get(target);
    const server = connect(
      route === undefined ? { host, port: Number(target.slice(at + 1)) } : { host: '127.0.0.1', port: route },
    );
    this.#keep(server);
    server.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\nX-Proxy: test\r\n\r\n');
      client.pipe(server).pipe(client);
    });
    server.once('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n'));
    client.once('close', () => server.destroy());
    server.once('close', () => client.end());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket.setNoDelay(true));
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
