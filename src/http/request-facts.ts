import type { FastifyRequest } from 'fastify';
import { isJsonObject } from '../base/json.ts';
import type { Caller } from '../rules/caller.ts';
import type { FactReader, RequestFacts } from '../rules/request-facts.ts';
import { queryOf } from './query-string.ts';

/** What rules may know of a request. */
export function factsOf(request: FastifyRequest<object>, caller: Caller): RequestFacts {
  const { method, body } = request;
  return {
    caller,
    context: 'default',
    method,
    query: queryOf(request),
    headers: headerReader(request),
    body: isJsonObject(body) ? body : {},
  };
}

function headerReader({ headers }: FastifyRequest<object>): FactReader {
  return {
    get: (name) => {
      const value = headers[toHeaderName(name)];
      return (Array.isArray(value) ? value[0] : value) ?? null;
    },
  };
}

/** By `x_token` a rule asks for `X-Token`, which Node calls `x-token`. */
export function toHeaderName(factName: string): string {
  return factName.toLowerCase().replaceAll('_', '-');
}
