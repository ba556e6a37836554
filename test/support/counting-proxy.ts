import { createServer, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { StatementCounter } from './statement-counter.ts';

/** Stands between a client and a server on loopback; closed when the test ends. */
export interface CountingProxy {
  readonly port: number;
  /** How often the client sent something after the server had, over all connections. */
  readonly roundTrips: number;
  /** Number of statements that the client has sent; several in one text count as one. */
  readonly statements: number;
  /** From now on drops everything in both directions without closing, like a network that has failed silently. */
  swallow(): void;
  /** From now on holds back the server's answers on connections that have sent `text`, until the returned function is called. */
  holdAnswersTo(text: string): () => void;
}

export async function startCountingProxy(t: TestContext, serverPort: number): Promise<CountingProxy> {
  const proxy = new Proxy(serverPort);
  const server = createServer((client) => proxy.join(client));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  proxy.port = typeof address === 'object' && address !== null ? address.port : 0;
  t.after(() => {
    proxy.cut();
    server.close();
  });
  return proxy;
}

class Proxy implements CountingProxy {
  port = 0;
  roundTrips = 0;
  statements = 0;
  readonly #serverPort: number;
  readonly #sockets = new Set<Socket>();
  #isSwallowing = false;
  #held: { readonly text: string; readonly released: Promise<void> } | undefined;

  constructor(serverPort: number) {
    this.#serverPort = serverPort;
  }

  swallow(): void {
    this.#isSwallowing = true;
  }

  holdAnswersTo(text: string): () => void {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    this.#held = { text, released };
    return () => {
      this.#held = undefined;
      resolve();
    };
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  join(client: Socket): void {
    const server = connect(this.#serverPort, '127.0.0.1');
    let hasServerSpoken = true;
    let released: Promise<void> | undefined;
    const counter = new StatementCounter(() => (this.statements += 1));
    for (const socket of [client, server]) {
      this.#sockets.add(socket.setNoDelay(true));
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (bytes: Buffer) => {
      if (this.#isSwallowing) return;
      counter.take(bytes);
      if (hasServerSpoken) this.roundTrips += 1;
      hasServerSpoken = false;
      if (this.#held !== undefined && bytes.includes(this.#held.text)) released = this.#held.released;
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (this.#isSwallowing) return;
      hasServerSpoken = true;
      if (released === undefined) client.write(bytes);
      else void released.then(() => client.write(bytes));
    });
  }
}
