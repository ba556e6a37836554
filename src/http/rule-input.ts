import type { FastifyRequest } from 'fastify';
import { assert } from '../base/assert.ts';
import { ipAddressText } from '../base/ip-address.ts';
import { isJsonObject } from '../base/json.ts';
import { continueTrace, type Trace } from '../base/trace-context.ts';
import type { Caller } from '../access/caller.ts';
import type { ValueReader, RuleInput, RequestOrigin } from '../access/rule-input.ts';
import { clientKey } from '../limits/rate-limiter.ts';
import { queryOf } from './request.ts';

/** What rules may know of a request. */
export function ruleInput(request: FastifyRequest<object>, caller: Caller): RuleInput {
  const { method, body } = request;
  return {
    caller,
    context: 'default',
    method,
    query: queryOf(request),
    headers: headerReader(request),
    body: isJsonObject(body) ? body : {},
    origin: () => originOf(request),
    trace: () => traceOf(request),
  };
}

/** The trace that a request belongs to. It begins here, if it has none, and only when somebody asks. */
export function traceOf(request: FastifyRequest<object>): Trace {
  const { traceparent, tracestate } = request.headers;
  return (request.trace ??= continueTrace({ traceparent, tracestate }));
}

/** Called only where the origin is recorded, because finding the address in headers takes time. */
function originOf(request: FastifyRequest<object>): RequestOrigin {
  const { instance } = request;
  assert(instance !== null, 'the request has no instance');
  const address = request.server.admission.addressOf(instance, request);
  return {
    address: ipAddressText(address),
    network: clientKey(address),
    signal: request.raw.signal,
    requestId: request.id,
  };
}

function headerReader({ headers }: FastifyRequest<object>): ValueReader {
  return {
    get: (name) => {
      const header = toHeaderName(name);
      // Own members only: every object inherits a `constructor`, which no client has sent.
      const value = Object.hasOwn(headers, header) ? headers[header] : undefined;
      return (Array.isArray(value) ? value[0] : value) ?? null;
    },
  };
}

/** Returns Node's name for a header that a rule names: `x_token` is `X-Token`, which Node calls `x-token`. */
export function toHeaderName(factName: string): string {
  return factName.toLowerCase().replaceAll('_', '-');
}
