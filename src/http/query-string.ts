import type { FastifyRequest } from 'fastify';
import type { QueryReader } from '../lists/list-query.ts';

/** Fastify's parser of query strings: first values count, `a[b]` is just a name, no object is ever built from names. */
export function parseQueryString(text: string): Record<string, unknown> {
  // Fastify's type asks for a plain object, but only queryOf reads it, and expects URLSearchParams.
  return (text === '' ? empty : new URLSearchParams(text)) as unknown as Record<string, unknown>;
}

export function queryOf(request: FastifyRequest): QueryReader {
  // Where no route was found, another parser has parsed the query.
  return request.query instanceof URLSearchParams ? request.query : empty;
}

/** Safe to share: nothing ever modifies a query. */
const empty = new URLSearchParams();
