import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface RawAnswer {
  readonly status: number;
  /** Headers by name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Long enough for a slow and busy machine, short enough to fail a test that hangs. */
const patienceMs = 60_000;

/** A TCP connection that sends exactly the given bytes, which `fetch` would correct, and keeps all answers. */
export class RawConnection {
  readonly socket: Socket;
  /** Interim answers (1xx) are left out. */
  readonly answers: RawAnswer[] = [];
  /** True once the server has ended its side. */
  hasEnded = false;
  isClosed = false;
  #received = Buffer.alloc(0);
  #onChange: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      for (let answer = this.#takeAnswer(); answer !== undefined; answer = this.#takeAnswer())
        if (answer.status >= 200) this.answers.push(answer);
      this.#onChange();
    });
    socket.on('end', () => {
      this.hasEnded = true;
      this.#onChange();
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.isClosed = true;
      this.#onChange();
    });
  }

  /** Connects to a service at `http://address:port`. `stays` keeps our side open after the server has ended its own. */
  static open(t: TestContext, url: string, stays = false): RawConnection {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: stays });
    t.after(() => socket.destroy());
    return new RawConnection(socket);
  }

  /** A string is sent as Latin-1: one byte for each character. */
  send(bytes: string | Uint8Array): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Waits for this many answers. */
  async waitForAnswers(count: number): Promise<readonly RawAnswer[]> {
    await this.#until(
      `${count} answers`,
      () => this.answers.length >= count || this.hasEnded || this.isClosed,
    );
    if (this.answers.length < count) throw new Error(`${this.answers.length} answers instead of ${count}`);
    return this.answers;
  }

  /** Resolves when the server has ended or reset the connection. */
  waitForEnd(): Promise<void> {
    return this.#until('the end of the connection', () => this.hasEnded || this.isClosed);
  }

  #until(what: string, isSo: () => boolean): Promise<void> {
    if (isSo()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`not within ${patienceMs} ms: ${what}`)), patienceMs);
      this.#onChange = () => {
        if (!isSo()) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #takeAnswer(): RawAnswer | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1) return undefined;
    const [first = '', ...lines] = this.#received.toString('latin1', 0, headEnd).split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    const bodyEnd = headEnd + 4 + Number(headers.get('content-length') ?? 0);
    if (this.#received.length < bodyEnd) return undefined;
    const body = this.#received.toString('utf8', headEnd + 4, bodyEnd);
    this.#received = this.#received.subarray(bodyEnd);
    return { status: Number(first.split(' ')[1]), headers, body };
  }
}

/** Sends these bytes on a connection of their own and returns the answer. */
export async function sendRaw(t: TestContext, url: string, bytes: string | Uint8Array): Promise<RawAnswer> {
  const connection = RawConnection.open(t, url);
  connection.send(bytes);
  const [answer] = await connection.waitForAnswers(1);
  connection.socket.destroy();
  if (answer === undefined) throw new Error('no answer');
  return answer;
}

/** Returns the text of a request. `Host` and `Content-Length` are added unless they are given. */
export function rawRequest(line: string, headers: Readonly<Record<string, string>> = {}, body = ''): string {
  const all = {
    Host: 'a.example',
    ...(body === ''
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
