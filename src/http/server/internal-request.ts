import { AssertionFailed } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { Ledger } from '../../base/ledger.ts';
import type { InstanceEntry } from '../../instances/instance-rows.ts';
import type { InstanceCall } from '../../operator/instance-calls.ts';
import { AnswerMemory } from '../answer-memory.ts';
import { emptyReport, type InstanceRequest, type ReservedMemory } from '../instance-request.ts';
import { fillPath } from '../path-patterns.ts';
import type { InstanceRoute } from '../route.ts';
import type { OperatorRequest } from '../operator-context.ts';

/** A request to an instance that the front itself makes, for the operator or for a client of whose message it is a part. */
export class InternalRequest implements InstanceRequest {
  readonly id = newId();
  readonly isOperator: boolean;
  readonly entry: InstanceEntry;
  readonly method: string;
  readonly url: string;
  readonly fullUrl: string;
  readonly headers: InstanceRequest['headers'];
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly peer: Uint8Array;
  readonly startedMs = systemClock.monotonic();
  readonly signal: AbortSignal;
  readonly bytes: Buffer | undefined;
  readonly isFormWaiting = false;
  readonly report = emptyReport();
  readonly #ledger: Ledger;
  #memory: AnswerMemory | undefined;

  constructor(
    route: InstanceRoute,
    { params = {}, query = {}, body }: InstanceCall,
    { entry, cause, ledger }: InternalRequestParts,
  ) {
    this.entry = entry;
    this.method = route.method;
    this.query = new URLSearchParams(query);
    const path = fillPath(route.paths[0] ?? '', (name) => encodeURIComponent(params[name] ?? ''));
    this.url = this.query.size === 0 ? path : `${path}?${this.query.toString()}`;
    this.fullUrl = `${cause.origin}/i/${entry.slug}${this.url}`;
    this.isOperator = cause.client === undefined;
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    this.headers = { ...cause.client?.headers, ...type };
    this.params = params;
    this.peer = cause.peer;
    // Of the operator it is not that of the client: what it has begun is ended or undone.
    this.signal = cause.client?.signal ?? new AbortController().signal;
    this.bytes = body && Buffer.from(JSON.stringify(body));
    this.#ledger = ledger;
  }

  get isGone(): boolean {
    return this.signal.aborted;
  }

  get bodyBytes(): number {
    return this.bytes?.length ?? 0;
  }

  memoryFor(client: string): ReservedMemory {
    const share = { instance: this.entry.id, address: client, signal: this.signal };
    return (this.#memory ??= new AnswerMemory(this.#ledger, share));
  }

  readForm(): Promise<never> {
    return Promise.reject(new AssertionFailed('no body of an internal request is a form'));
  }

  /** Releases the memory of the answer. */
  release(): void {
    this.#memory?.release();
  }
}

/** As a job knows of the request that has made it. */
export interface CallCause extends Pick<OperatorRequest, 'origin' | 'peer'> {
  /** The client in whose name it is made; undefined for the operator. */
  readonly client?: Pick<InstanceRequest, 'headers' | 'signal'> | undefined;
}

export interface InternalRequestParts {
  readonly entry: InstanceEntry;
  /** What it is made for: where the operator's request has reached the service, and from where it came. */
  readonly cause: CallCause;
  /** The memory of all answers. */
  readonly ledger: Ledger;
}
