import type { IncomingMessage } from 'node:http';

const METHODS = 'GET,HEAD,PUT,PATCH,POST,DELETE';
const EXPOSED = 'ETag, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, X-Request-Id';
const PREFLIGHT_SECONDS = '600';

/** Which web origins may read answers; `*` means all. Credentials are never allowed: this API knows no cookies. */
export type AllowedOrigins = readonly string[];

export type CorsHeaders = Readonly<Record<string, string>>;

const anyOrigin: CorsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED,
};

/** The headers of an answer to a request that comes from a web page; undefined for all others. */
export function corsHeaders(request: IncomingMessage, allowed: AllowedOrigins): CorsHeaders | undefined {
  const { origin } = request.headers;
  if (origin === undefined) return undefined;
  if (allowed.includes('*')) return anyOrigin;
  if (!allowed.includes(origin)) return undefined;
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED };
}

/** The headers of the answer to OPTIONS, on every path: the Fetch standard's preflight. */
export function preflightHeaders(request: IncomingMessage, allowed: AllowedOrigins): CorsHeaders {
  const headers = corsHeaders(request, allowed);
  if (headers === undefined) return { allow: `${METHODS},OPTIONS` };
  const requestHeaders = request.headers['access-control-request-headers'];
  return {
    ...headers,
    allow: `${METHODS},OPTIONS`,
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    'access-control-allow-methods': METHODS,
    'access-control-max-age': PREFLIGHT_SECONDS,
    ...(requestHeaders === undefined ? {} : { 'access-control-allow-headers': requestHeaders }),
  };
}
