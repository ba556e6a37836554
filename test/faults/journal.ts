import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** One request that a receiver got, with what its checks need of it. */
export interface Receipt {
  /** Number of the server's life in which it was sent. */
  readonly life: number;
  /** When it arrived, in milliseconds since 1970. */
  readonly atMs: number;
  readonly delivery: string;
  readonly eventId: string;
  readonly sequence: number;
  /** SHA-256 of the body. */
  readonly digest: string;
}

/** Longer than any connection of a dead process stays open on loopback. */
const closeMsMax = 5_000;

/**
 * The receivers' truth, outside the process that dies: one server, an endpoint for each path. It checks signatures on
 * arrival, by its own means and by the stock library, and says yes to everything.
 */
export class Journal {
  /** Which life of the server is the present one. Requests of a dead one are all in before it is raised. */
  life = 0;
  readonly receipts: Receipt[] = [];
  readonly violations: string[] = [];
  /** Signing secrets by path. */
  readonly secrets = new Map<string, string>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.#receive(request, Buffer.concat(chunks));
        response.end('ok');
      });
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async open(): Promise<Journal> {
    const journal = new Journal();
    journal.#server.listen(0, '127.0.0.1');
    await once(journal.#server, 'listening');
    return journal;
  }

  urlAt(path: string): string {
    // A TCP server that is listening has an address of this form.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** Resolves when everything that an ended server has sent is in: its connections are closed. */
  async allReceived(): Promise<void> {
    const deadlineMs = performance.now() + closeMsMax;
    while (this.#sockets.size > 0 && performance.now() < deadlineMs) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #receive(request: IncomingMessage, body: Buffer): void {
    const header = (name: string): string => String(request.headers[name] ?? '');
    const secret = this.secrets.get(request.url ?? '') ?? '';
    const delivery = header('x-service-delivery');
    const ours = createHmac('sha256', secret).update(body).digest('hex');
    if (header('x-service-signature') !== ours)
      this.violations.push(`${delivery}: X-Service-Signature is wrong`);
    try {
      new Webhook(secret).verify(body, {
        'webhook-id': header('webhook-id'),
        'webhook-timestamp': header('webhook-timestamp'),
        'webhook-signature': header('webhook-signature'),
      });
    } catch (error) {
      this.violations.push(`${delivery}: webhook-signature is wrong: ${String(error)}`);
    }
    this.receipts.push({
      life: this.life,
      atMs: Date.now(),
      delivery,
      eventId: header('webhook-id'),
      sequence: Number(header('x-service-sequence')),
      digest: digestOf(body),
    });
  }
}

export function digestOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64');
}
