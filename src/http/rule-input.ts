import { ipAddressText } from '../base/ip-address.ts';
import { isJsonObject } from '../base/json.ts';
import { continueTrace, type Trace } from '../base/trace-context.ts';
import type { Caller } from '../access/caller.ts';
import type { ValueReader, RuleInput, RequestOrigin } from '../access/rule-input.ts';
import { clientKey } from '../limits/rate-limiter.ts';
import type { InstanceRequest } from './instance-request.ts';

export interface RuleInputParts {
  readonly caller: Caller;
  /** The body as JSON; undefined where there is none, or where it does not matter. */
  readonly body?: unknown;
  /** Returns the address of the client. */
  readonly addressOf: () => Uint8Array;
}

/** What rules may know of a request. */
export function ruleInput(request: InstanceRequest, { caller, body, addressOf }: RuleInputParts): RuleInput {
  const { method, query } = request;
  return {
    caller,
    context: 'default',
    method,
    query,
    headers: headerReader(request),
    body: isJsonObject(body) ? body : {},
    origin: () => originOf(request, addressOf()),
    trace: () => traceOf(request),
  };
}

/** The trace that a request belongs to. It begins here, if it has none, and only when somebody asks. */
export function traceOf({ headers, report }: Pick<InstanceRequest, 'headers' | 'report'>): Trace {
  const { traceparent, tracestate } = headers;
  return (report.trace ??= continueTrace({ traceparent, tracestate }));
}

/** Called only where the origin is recorded, because finding the address in headers takes time. */
function originOf(request: InstanceRequest, address: Uint8Array): RequestOrigin {
  return {
    address: ipAddressText(address),
    network: clientKey(address),
    signal: request.signal,
    requestId: request.id,
  };
}

function headerReader({ headers }: InstanceRequest): ValueReader {
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
