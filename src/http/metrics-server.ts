import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../base/logger.ts';
import type { Exposition } from '../logs/metrics.ts';
import { nodeHttp } from './connections.ts';

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
  readonly write: () => Promise<Exposition>;
  readonly logger: Logger;
}

/** Serves metrics on a port of their own, to whoever reaches it. Rejects when the port is taken. */
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
  const { address, port: taken, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}/metrics`,
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
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  { write }: MetricsServerOptions,
): Promise<void> {
  if (url.split('?', 1)[0] !== '/metrics') return send(response, 404, 'Metrics are under /metrics.\n');
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return send(response, 405, 'Metrics are only read.\n');
  }
  const { type, text } = await write();
  response.setHeader('content-type', type);
  send(response, 200, text);
}

function send(response: ServerResponse, status: number, text: string): void {
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.writeHead(status, { 'cache-control': 'no-store', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
