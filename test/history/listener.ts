import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Receipt } from './evidence.ts';

/** A receiver that notes what it is told, in the order in which it arrives, and says yes to everything. */
export class Listener {
  readonly receipts: Receipt[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const header = (name: string): string => String(request.headers[name] ?? '');
      request.resume().on('end', () => {
        this.receipts.push({
          delivery: header('x-service-delivery'),
          eventId: header('webhook-id'),
          sequence: Number(header('x-service-sequence')),
        });
        response.end('ok');
      });
    });
    this.#server.keepAliveTimeout = 0;
  }

  static async open(): Promise<Listener> {
    const listener = new Listener();
    listener.#server.listen(0, '127.0.0.1');
    await once(listener.#server, 'listening');
    return listener;
  }

  get url(): string {
    // A TCP server that is listening has an address of this form.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
