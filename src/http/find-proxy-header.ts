import type { IncomingHttpHeaders } from 'node:http';

const proxyHeaders = ['X-Forwarded-For', 'X-Real-IP', 'CF-Connecting-IP', 'Fly-Client-IP', 'True-Client-IP'];

/** Returns the name of a header of a request that usually only proxies write, or undefined. */
export function findProxyHeader(headers: IncomingHttpHeaders): string | undefined {
  return proxyHeaders.find((name) => headers[name.toLowerCase()] !== undefined);
}
