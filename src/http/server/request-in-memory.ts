import { duplexPair, type Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { nodeHttp } from '../connections.ts';

export interface RequestInMemory {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

export interface AnswerInMemory {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly retryAfterSeconds: number | undefined;
}

/**
 * Sends a request to a server of this process over a connection in memory, which `connect` gives the other end of. All that a request from
 * elsewhere goes through is the same, and nobody else can send one.
 */
export async function requestInMemory(
  connect: (connection: Duplex) => void,
  { method, path, headers, body, signal }: RequestInMemory,
): Promise<AnswerInMemory> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = nodeHttp.request({
    method,
    path,
    headers: { ...headers, 'content-length': Buffer.byteLength(body ?? '') },
    host: 'localhost',
    signal,
    createConnection: () => {
      const [ours, theirs] = duplexPair();
      // A socket can also be closed once all is written: the server does so after its last answer.
      const destroySoon = (): void => void theirs.end(() => theirs.destroy());
      connect(Object.assign(theirs, { remoteAddress: '127.0.0.1', destroySoon }));
      return ours;
    },
  });
  request.once('response', resolve);
  request.once('error', reject);
  request.end(body);
  const response = await promise;
  return {
    status: response.statusCode ?? 0,
    type: response.headers['content-type'] ?? '',
    text: await text(response),
    retryAfterSeconds: Number(response.headers['retry-after'] ?? '') || undefined,
  };
}
