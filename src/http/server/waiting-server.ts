import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { newId } from '../../base/ids.ts';
import { standardHeaders } from '../answer.ts';
import { nodeHttp, nodeHttps } from '../connections.ts';
import { openTls, type TlsFiles } from './tls.ts';

export interface WaitingServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
}

/** Answers in the place of a service that cannot start yet: it is alive, and not ready. */
export class WaitingServer {
  readonly #options: WaitingServerOptions;
  #server: Server | undefined;

  constructor(options: WaitingServerOptions) {
    this.#options = options;
  }

  /** Begins to listen, unless it does. Rejects when the port is taken. */
  async open(): Promise<void> {
    if (this.#server !== undefined) return;
    const { host, port, tls } = this.#options;
    const server =
      tls === undefined ? nodeHttp.createServer(answer) : nodeHttps().createServer(openTls(tls), answer);
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, resolve);
    });
  }

  /** Frees the port. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }
}

interface FixedAnswer {
  readonly status: number;
  readonly body: object;
}

const answers: ReadonlyMap<string, FixedAnswer> = new Map([
  ['/api/health/live', { status: 200, body: { code: 200, message: 'The service is alive.', data: {} } }],
  [
    '/api/health/ready',
    {
      status: 503,
      body: {
        code: 503,
        message: 'The service waits for nodes of an older version to stop.',
        data: { reason: 'upgrade' },
      },
    },
  ],
]);
const starting: FixedAnswer = {
  status: 503,
  body: { data: {}, message: 'The service is starting.', status: 503 },
};

function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const [path = ''] = url.split('?');
  const { status, body } = answers.get(path) ?? starting;
  response.writeHead(status, {
    ...standardHeaders(newId()),
    'content-type': 'application/json; charset=utf-8',
    ...(status === 503 && { 'retry-after': '1' }),
    // The service itself is to answer the next request.
    connection: 'close',
  });
  response.end(JSON.stringify(body));
}
