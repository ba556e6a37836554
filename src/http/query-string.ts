import type { FastifyRequest } from 'fastify';
import type { QueryReader } from '../lists/list-query.ts';

/** Fastify's parser of query strings: first values count, `a[b]` is just a name, no object is ever built from names. */
export function parseQueryString(text: string): Record<string, unknown> {
  // Fastify asks for an object; nothing reads its members but queryOf, which knows that it is this class.
  return (text === '' ? empty : new URLSearchParams(text)) as unknown as Record<string, unknown>;
}

export function queryOf(request: FastifyRequest): QueryReader {
  // What no route was found for was parsed by another parser.
  return request.query instanceof URLSearchParams ? request.query : empty;
}

/** Nobody changes what a request has asked. */
const empty = new URLSearchParams();
