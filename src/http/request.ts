import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../base/errors.ts';
import { defaultSlug, type InstanceDirectory } from '../instances/instance-directory.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';

const headerLinesMax = 100;

/** Headers that must not be repeated, or two servers of a chain could see two different requests. */
const SINGLE = [
  'host',
  'content-type',
  'authorization',
  'content-length',
  'content-encoding',
  'transfer-encoding',
];

/**
 * Refuses requests that servers are known to disagree about, before anything in them is trusted (RFC 9112 sections 3.2,
 * 6.1 and 11.2). Node is lenient here: it takes the first of two Host headers, and a transfer coding that it does not know.
 */
export function checkRequest(request: IncomingMessage): void {
  const { rawHeaders, headers, headersDistinct, httpVersion } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw refusal('Expected HTTP/1.1');
  if (rawHeaders.length > headerLinesMax * 2)
    throw refusal(`At most ${headerLinesMax} header lines are allowed`);
  const repeated = SINGLE.find((name) => (headersDistinct[name]?.length ?? 0) > 1);
  if (repeated !== undefined && repeated !== 'host') throw refusal(`The header ${repeated} is given twice`);
  if (repeated === 'host' || hostName(headers.host ?? '') === undefined)
    throw refusal('Expected one valid Host header');
  checkCoding(request);
  checkTarget(request.url ?? '');
}

function checkCoding({ headers, httpVersion }: IncomingMessage): void {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0')) {
    throw refusal('Only the transfer coding "chunked" of HTTP/1.1 is allowed');
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new AppError(
      'unsupported_media_type',
      'Unsupported Content-Type. Compressed bodies are not accepted.',
    );
  }
}

/** Refuses percent signs that encode nothing, invalid UTF-8 and U+0000. In a path, the router has already refused the first two. */
function checkTarget(url: string): void {
  if (!url.startsWith('/')) throw refusal('Expected a path');
  if (url.includes('filter=')) checkAmpersands(url);
  if (!url.includes('%')) return;
  if (/%00/.test(url)) throw refusal('The URL must not contain %00');
  try {
    decodeURIComponent(url);
  } catch (error) {
    const message = 'The query is not valid percent-encoded UTF-8: a percent sign itself is written %25.';
    throw new AppError('bad_request', message, { cause: error });
  }
}

/**
 * Refuses a filter whose `&&` was not encoded: it ends the parameter there, and what is left of it selects too much. Other parameters are
 * free, as rules may read them, but none is empty or begins with a blank by intention.
 */
function checkAmpersands(url: string): void {
  const [path = '', query = ''] = url.split('?', 2);
  const parameters = query.split('&');
  if (!path.includes('/api/') || !parameters.some((one) => one.startsWith('filter='))) return;
  const isCut = (one: string, at: number): boolean =>
    /^(?:\+|%20|%09|%0a)/i.test(one) || (one === '' && at > 0 && at < parameters.length - 1);
  if (parameters.some(isCut))
    throw refusal('The filter ends at an "&" that is not encoded: inside a parameter, "&" is written %26.');
}

function refusal(message: string): AppError {
  return new AppError('bad_request', message);
}

const HOST = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?$/i;
const portMax = 65_535;

/** Returns the name or address in a Host header, in lower case and without port; undefined if invalid (RFC 9112 section 3.2). */
export function hostName(header: string): string | undefined {
  const match = HOST.exec(header);
  if (match === null || Number(match[1] ?? 0) > portMax) return undefined;
  const host = header.toLowerCase();
  const colon = host.lastIndexOf(':');
  const name = colon > host.lastIndexOf(']') ? host.slice(0, colon) : host;
  // `a.example.` is the full form of `a.example` (RFC 1034 section 3.1), and the same instance.
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/** The slug of each request to `/i/{slug}/…`, kept here because the path is routed without it. */
const slugs = new WeakMap<IncomingMessage, string>();

const PREFIX = /^\/i\/([^/?]*)(\/.*)$/;

export interface AddressOptions {
  readonly directory: InstanceDirectory;
  /** When true, a host that is bound to no instance addresses none: neither the default one nor the one of a slug. */
  readonly strictHosts: boolean;
}

/** Returns the path without `/i/{slug}`; unchanged on hosts that are bound to an instance. */
export function withoutInstancePrefix(request: IncomingMessage, options: AddressOptions): string {
  const url = request.url ?? '/';
  if (!url.startsWith('/i/') || findBound(request, options) !== undefined) return url;
  const [, slug, rest] = PREFIX.exec(url) ?? [];
  if (slug === undefined || rest === undefined) return url;
  slugs.set(request, slug);
  return rest;
}

/** Whether the path names an instance by its slug. */
export function hasInstancePrefix(request: IncomingMessage): boolean {
  return slugs.has(request);
}

/** Returns the instance that a request's host or path addresses, or undefined. */
export function findAddressed(request: IncomingMessage, options: AddressOptions): InstanceEntry | undefined {
  const bound = findBound(request, options);
  if (bound !== undefined || options.strictHosts) return bound;
  const slug = slugs.get(request);
  if (slug !== undefined) return options.directory.findBySlug(slug);
  const entry = options.directory.findBySlug(defaultSlug);
  return entry?.host === null ? entry : undefined;
}

/** Finds nothing for an invalid Host header: checkRequest refuses such a request. */
function findBound({ headers }: IncomingMessage, { directory }: AddressOptions): InstanceEntry | undefined {
  const name = hostName(headers.host ?? '');
  return name === undefined ? undefined : directory.findByHost(name);
}

/** Fastify's parser of query strings: first values count, `a[b]` is just a name, no object is ever built from names. */
export function parseQueryString(text: string): Record<string, unknown> {
  // Fastify's type asks for a plain object, but only queryOf reads it, and expects URLSearchParams.
  return (text === '' ? empty : new URLSearchParams(text)) as unknown as Record<string, unknown>;
}

export function queryOf(request: FastifyRequest): URLSearchParams {
  // Where no route was found, another parser has parsed the query.
  return request.query instanceof URLSearchParams ? request.query : empty;
}

/** Safe to share: nothing ever modifies a query. */
const empty = new URLSearchParams();
