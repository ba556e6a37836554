import type { IncomingHttpHeaders } from 'node:http';
import { ipAddressText } from '../base/ip-address.ts';
import type { JsonObject } from '../base/json.ts';
import type { WrittenActor } from '../logs/audit-entry.ts';
import type { InstanceCalls } from '../operator/instance-calls.ts';
import type { ManagedInstance } from '../operator/managed-instances.ts';
import type { OperatorKey } from '../operator/operator-keys.ts';
import type { OperatorControl } from '../operator/operator-control.ts';
import { type ListQuery, parseListQuery } from '../query/list-query.ts';
import { type IdempotentRequest, idempotentRequest } from '../records/idempotency.ts';
import { objectOf } from './parse-body.ts';
import { ServiceContext, type Services } from './request-context.ts';

/** What routes of the operator use of the process. */
export interface OperatorServices extends Pick<Services, 'readiness' | 'directory'> {
  readonly operator: OperatorControl;
  /** Writes the metrics of the whole process. */
  readonly metrics: Services['metrics'];
}

/** What is known of a request to a route of the operator. */
export interface OperatorRequest {
  /** Identifies the request in logs and in its answer. */
  readonly id: string;
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Where the service is reached: `https://api.example.com:8443`. */
  readonly origin: string;
  readonly headers: IncomingHttpHeaders;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The address at the other end of the connection. */
  readonly peer: Uint8Array;
  /** Whether the connection of the client has ended. */
  readonly isGone: () => boolean;
  /** Returns a signal that is aborted when it ends. */
  readonly goneSignal: () => AbortSignal;
  /** Writes the body to a file, for a route with `bodyTypes` (receive-body.ts). */
  readonly receiveBody: (path: string, bytesMax: number) => Promise<void>;
}

export interface OperatorContextParts {
  readonly request: OperatorRequest;
  readonly caller: OperatorKey;
  /** As JSON; undefined where there is none. */
  readonly body: unknown;
  /** Requests to instances, for this request. */
  readonly calls: InstanceCalls;
}

/** A request to a route of the operator, with its caller. */
export class OperatorContext<Params = object> extends ServiceContext<OperatorServices> {
  readonly request: OperatorRequest;
  readonly caller: OperatorKey;
  readonly calls: InstanceCalls;
  readonly #body: unknown;

  constructor(services: OperatorServices, { request, caller, body, calls }: OperatorContextParts) {
    super(services, request.query, undefined);
    this.request = request;
    this.caller = caller;
    this.calls = calls;
    this.#body = body;
  }

  get operator(): OperatorControl {
    return this.services.operator;
  }

  get params(): Params {
    // The router fills in every parameter of the path, whose type that of the route is made from.
    return this.request.params as Params;
  }

  /** The body as an object. Throws bad_request when it is JSON of another kind. */
  get body(): JsonObject {
    return objectOf(this.#body);
  }

  /** The query as that of a list. Throws bad_request. */
  get listQuery(): ListQuery {
    return parseListQuery(this.query);
  }

  /** Who acts, for audit logs. */
  get actor(): WrittenActor {
    return operatorActor(this.request, this.caller);
  }

  /** The request under its idempotency key; undefined without one. Throws bad_request for an invalid key. */
  get idempotent(): IdempotentRequest | undefined {
    const { method, url, headers } = this.request;
    const key = headers['idempotency-key'];
    if (key === undefined) return undefined;
    const [path = '', ...query] = url.split('?');
    const caller = { kind: 'operatorKey', id: this.caller.id } as const;
    const { sealer } = this.operator;
    const parts = {
      method,
      path,
      query: query.join('?'),
      ifMatch: undefined,
      body: this.body,
      sealer,
      caller,
    };
    return idempotentRequest(String(key), parts);
  }

  /** Returns the URL below which the API of an instance is. */
  baseUrl({ slug, host }: Pick<ManagedInstance, 'slug' | 'host'>): string {
    const { origin } = this.request;
    if (host === null) return `${origin}/i/${slug}`;
    const url = new URL(origin);
    url.hostname = host;
    return url.origin;
  }
}

/** Without a caller, that of a request whose key is refused. */
export function operatorActor({ id, peer }: OperatorRequest, caller?: OperatorKey): WrittenActor {
  const origin = { address: ipAddressText(peer), requestId: id };
  return caller === undefined
    ? { kind: 'guest', id: '', ...origin }
    : { kind: 'operator', id: caller.id, ...origin };
}
