import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addressBytes } from '../../base/ip-address.ts';
import type { Logger } from '../../base/logger.ts';
import type { Exposition } from '../../logs/metrics.ts';
import { nodeHttp } from '../connections.ts';
import { hostName } from '../request.ts';

const connectionsMax = 64;
const timeoutMs = 10_000;

export interface MetricsServer {
  /** Where metrics are read: `http://127.0.0.1:9464/metrics`. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Names with a dot by which it may be asked, in lower case. */
  readonly names: readonly string[];
  readonly write: () => Promise<Exposition>;
  readonly logger: Logger;
}

/** Serves metrics on a port of their own, to every client that reaches it. Rejects when the port is in use. */
export async function serveMetrics(options: MetricsServerOptions): Promise<MetricsServer> {
  const { host, port, logger } = options;
  const server = nodeHttp.createServer(
    { headersTimeout: timeoutMs, requestTimeout: timeoutMs },
    (request, response) => {
      answer(request, response, options).catch((error: unknown) => {
        logger.error('Metrics could not be read.', { error });
        send(response, 500, 'Metrics could not be read.\n');
      });
    },
  );
  server.maxConnections = connectionsMax;
  await listen(server, host, port);
  // The cast holds: a TCP server that is listening has such an address.
  const { address, port: ownPort, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${ownPort}/metrics`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function answer(
  { method, url = '', headersDistinct }: IncomingMessage,
  response: ServerResponse,
  { write, names }: MetricsServerOptions,
): Promise<void> {
  if (!isOwnHost(headersDistinct['host'], names))
    return send(response, 421, 'Ask by an address, by localhost or by a name in --metrics-names.\n');
  if (url.split('?', 1)[0] !== '/metrics') return send(response, 404, 'Metrics are under /metrics.\n');
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return send(response, 405, 'Metrics are only read.\n');
  }
  const { type, text } = await write();
  response.setHeader('content-type', type);
  send(response, 200, text);
}

/**
 * Whether a request names this server, and not a site whose name was made to lead here: a browser shows its pages what is read from such a name. A
 * name without a dot is one of the own network.
 */
function isOwnHost(headers: readonly string[] | undefined, names: readonly string[]): boolean {
  const [header, ...others] = headers ?? [];
  const host = others.length > 0 ? undefined : hostName(header ?? '');
  if (host === undefined) return false;
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  return addressBytes(address) !== null || !host.includes('.') || names.includes(host);
}

function send(response: ServerResponse, status: number, text: string): void {
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.writeHead(status, { 'cache-control': 'no-store', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
