import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/**
 * Stands between a client and PostgreSQL on loopback and knows where a message ends
 * (https://www.postgresql.org/docs/18/protocol-message-formats.html), so that it can cut a connection at a COMMIT and nowhere
 * else. Closed when the test ends.
 */
export interface CommitProxy {
  readonly port: number;
  /**
   * Cuts the connection of the next transaction that sends `text`, at its COMMIT: `before` the server gets a byte of the COMMIT, or
   * `after` the server has answered it, but without passing the answer on. Resolves when the connection is cut.
   */
  cutAtCommit(text: string, when: CutTime): Promise<void>;
}

export type CutTime = 'before' | 'after';

interface Cut {
  readonly text: string;
  readonly when: CutTime;
  readonly onCut: () => void;
}

export async function startCommitProxy(t: TestContext, serverPort: number): Promise<CommitProxy> {
  const cuts = new Set<Cut>();
  const links = new Set<Link>();
  const server = createServer((client) => {
    const link = new Link(client, connect(serverPort, '127.0.0.1'), cuts);
    links.add(link);
    client.on('close', () => links.delete(link));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const link of links) link.cut();
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cutAtCommit: (text, when) => new Promise((onCut) => cuts.add({ text, when, onCut })),
  };
}

const isBegin = (message: Buffer): boolean => /^Q....BEGIN/s.test(message.toString('latin1'));
const isCommit = (message: Buffer): boolean => /^Q....COMMIT\0$/s.test(message.toString('latin1'));
const isCommitted = (message: Buffer): boolean => /^C....COMMIT\0$/s.test(message.toString('latin1'));

/** A client's connection, and the proxy's connection to the server for it. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #cuts: Set<Cut>;
  /** The requested cut that matches the transaction open on this connection. */
  #chosen: Cut | undefined;
  #isCommitSent = false;

  constructor(client: Socket, server: Socket, cuts: Set<Cut>) {
    this.#client = client;
    this.#server = server;
    this.#cuts = cuts;
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => this.cut());
    }
    // A message begins with a type byte before its length, except for the first one of the client.
    const asked = new Messages(0);
    const answered = new Messages(1);
    client.on('data', (bytes: Buffer) => {
      for (const message of asked.split(bytes)) this.#onAsked(message);
    });
    server.on('data', (bytes: Buffer) => {
      for (const message of answered.split(bytes)) this.#onAnswered(message);
    });
  }

  cut(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  #onAsked(message: Buffer): void {
    if (this.#client.destroyed) return;
    if (isBegin(message)) this.#chosen = undefined;
    for (const cut of this.#cuts) if (message.includes(cut.text)) this.#chosen = cut;
    if (this.#chosen !== undefined && isCommit(message)) {
      if (this.#chosen.when === 'before') return this.#cutNow(this.#chosen);
      this.#isCommitSent = true;
    }
    this.#server.write(message);
  }

  #onAnswered(message: Buffer): void {
    if (this.#chosen !== undefined && this.#isCommitSent && isCommitted(message)) this.#cutNow(this.#chosen);
    else this.#client.write(message);
  }

  #cutNow(cut: Cut): void {
    this.#cuts.delete(cut);
    this.cut();
    cut.onCut();
  }
}

/** Splits a stream into protocol messages. */
class Messages {
  #rest = Buffer.alloc(0);
  #lengthAt: number;

  constructor(lengthAt: 0 | 1) {
    this.#lengthAt = lengthAt;
  }

  /** Returns the messages that are complete after these bytes. */
  split(bytes: Buffer): readonly Buffer[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const whole: Buffer[] = [];
    while (this.#rest.length >= this.#lengthAt + 4) {
      const end = this.#lengthAt + this.#rest.readInt32BE(this.#lengthAt);
      if (this.#rest.length < end) break;
      whole.push(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
      this.#lengthAt = 1;
    }
    return whole;
  }
}
