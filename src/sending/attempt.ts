import type { Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { AccessTokens, tokenFailure } from './access-tokens.ts';
import { AnswerTooLong } from './answer-limit.ts';
import {
  attemptFailure,
  type AttemptFailure,
  type AttemptKind,
  type AttemptRequest,
  type AttemptResult,
  type AttemptTimings,
  isEndpointWideStatus,
  statusCause,
} from './attempt-result.ts';
import type { GuardedAgent } from './guarded-agent.ts';
import type { GuardedConnection } from './guarded-connection.ts';
import { maskedBody, maskedHeaders, type ResponseHeaders, sentSecrets } from './mask-secrets.ts';
import { requestHeaders } from './signature.ts';

const responseBodyBytesMax = 16 * 1024;

const noBody = new Uint8Array(0);

export interface AttemptParts {
  readonly agent: GuardedAgent;
  readonly clock: Clock;
  readonly inFlight: AttemptsInFlight;
  readonly tokens: AccessTokens;
}

/** Returns the parts that the attempts of an agent share. */
export function attemptParts(sending: Pick<AttemptParts, 'agent' | 'clock'>): AttemptParts {
  const shared = { ...sending, inFlight: new AttemptsInFlight(sending.clock) };
  return { ...shared, tokens: new AccessTokens(shared) };
}

/** Sends one request and resolves with the result. Never rejects for anything a receiver or the network does. */
export function sendAttempt(request: AttemptRequest, parts: AttemptParts): Promise<AttemptResult> {
  return new Promise((resolve) => new RunningAttempt(request, parts, resolve).start());
}

interface Ending {
  readonly kind: AttemptKind;
  readonly cause: string;
  readonly isEndpointWide: boolean;
}

/** One attempt. It is undici's handler as well, which saves an object and six closures for each attempt. */
class RunningAttempt implements AttemptInFlight, Dispatcher.DispatchHandler {
  #deadline = 0;
  readonly #request: AttemptRequest;
  readonly #parts: AttemptParts;
  readonly #settled: (result: AttemptResult) => void;
  #startedAt: number;
  #start: number;
  /** The access token; null while it is being fetched, or without one. */
  #token: string | null = null;
  /** Whether the receiver rejected a token before this one. */
  #isAgain = false;
  #connection: GuardedConnection | null = null;
  #path = '';
  #isOver = false;
  #status: number | null = null;
  #sent: readonly string[] = [];
  #headers: ResponseHeaders = {};
  #firstByteMs: number | null = null;
  #body: Uint8Array = noBody;
  #bodyLength = 0;

  constructor(request: AttemptRequest, parts: AttemptParts, settled: (result: AttemptResult) => void) {
    this.#request = request;
    this.#parts = parts;
    this.#settled = settled;
    this.#startedAt = parts.clock.now();
    this.#start = parts.clock.monotonic();
  }

  start(): void {
    const { endpointId, timeoutMs, oauth2, version } = this.#request;
    const { inFlight, clock, tokens } = this.#parts;
    this.#deadline = this.#start + timeoutMs;
    if (oauth2 === undefined) return this.#connect();
    inFlight.add(this);
    const query = { endpointId, oauth2, version, timeoutMs: this.#deadline - clock.monotonic() };
    void tokens.get(query).then((result) => {
      if (this.#isOver) return;
      if (result.kind === 'failed') return this.#fail(result.failure);
      this.#token = result.token;
      this.#connect();
    });
  }

  #connect(): void {
    const { endpointId, url, tls } = this.#request;
    const checkout = this.#parts.agent.checkOut(endpointId, url, tls);
    if (checkout.kind === 'refused') return this.#fail({ kind: 'refused', cause: checkout.reason });
    this.#connection = checkout.connection;
    this.#path = checkout.path;
    this.#parts.inFlight.add(this);
    this.#dispatch(checkout.connection);
  }

  check(monotonicNow: number): void {
    if (this.#deadline > monotonicNow) return;
    const { timeoutMs, oauth2 } = this.#request;
    const failure = { kind: 'timeout', cause: `No complete answer within ${timeoutMs / 1_000} s.` } as const;
    this.#fail(oauth2 !== undefined && this.#token === null ? tokenFailure(failure) : failure);
  }

  abort(): void {
    this.#fail({ kind: 'aborted', cause: 'The service stopped before the answer was complete.' });
  }

  /** undici requires this method, but offers nothing in it that the connection does not already have. */
  onRequestStart(): void {}

  onResponseStarted(): void {
    this.#firstByteMs ??= this.#elapsedMs();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
  ): void {
    if (this.#isOver || status < 200) return;
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    const part = chunk.subarray(0, responseBodyBytesMax - this.#bodyLength);
    if (this.#bodyLength === 0) {
      // Copied: the chunk is a view into a socket buffer four times as large as the stored maximum.
      this.#body = new Uint8Array(part);
    } else {
      // The second chunk allocates the whole room: a list of one-byte chunks would take a hundred times their size.
      if (this.#body.length < responseBodyBytesMax) this.#body = grown(this.#body);
      this.#body.set(part, this.#bodyLength);
    }
    this.#bodyLength += part.length;
    if (this.#bodyLength >= responseBodyBytesMax) this.#finish(false);
  }

  onResponseEnd(): void {
    if (!this.#isOver) this.#finish(true);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    if (error instanceof AnswerTooLong && this.#status !== null) return this.#finish(false);
    const failure = attemptFailure(error, this.#firstByteMs !== null);
    const connection = this.#connection;
    if (failure.kind !== 'connect' || connection?.isReused !== true) return this.#fail(failure);
    // A receiver may close a kept-alive connection at any time; some do so after each response. A request that ran into the close was
    // most likely never read, and if it was, `webhook-id` shows that it is the same. So it is sent again, but once: on a new connection
    // this excuse is gone. Not in this call, as undici is still busy closing the old connection.
    queueMicrotask(() => {
      if (!this.#isOver) this.#dispatch(connection);
    });
  }

  #dispatch(connection: GuardedConnection): void {
    const headers = requestHeaders(this.#request, Math.floor(this.#startedAt / 1_000));
    const { body, consent } = this.#request;
    const content =
      consent === undefined ? ({ method: 'POST', body } as const) : ({ method: 'OPTIONS' } as const);
    if (this.#token !== null) headers.push('Authorization', `Bearer ${this.#token}`);
    this.#sent = headers;
    connection.dispatch({ ...content, path: this.#path, headers }, this, this.#deadline);
  }

  /** Ends the attempt by its status; `isWhole`: the response is complete, so the connection can carry another request. */
  #finish(isWhole: boolean): void {
    const status = this.#status ?? 0;
    if (status >= 200 && status < 300) {
      return this.#settle({ kind: 'success', cause: '', isEndpointWide: false }, isWhole);
    }
    if (status === 401 && this.#token !== null && !this.#isAgain)
      return this.#sendAgain(this.#token, isWhole);
    this.#settle(
      { kind: 'status', cause: statusCause(status), isEndpointWide: isEndpointWideStatus(status) },
      isWhole,
    );
  }

  /**
   * Sends the request once more, with another token: this one may have been revoked. By another object, as the connection may still
   * report to this one, and with the deadline and the times of the first.
   */
  #sendAgain(token: string, isWhole: boolean): void {
    const { agent, inFlight, tokens } = this.#parts;
    this.#isOver = true;
    inFlight.delete(this);
    if (this.#connection !== null) agent.release(this.#connection, isWhole);
    tokens.drop(this.#request.endpointId, token);
    const again = new RunningAttempt(this.#request, this.#parts, this.#settled);
    again.#startedAt = this.#startedAt;
    again.#start = this.#start;
    again.#isAgain = true;
    again.start();
  }

  #fail(failure: AttemptFailure): void {
    if (!this.#isOver) this.#settle({ ...failure, isEndpointWide: failure.kind !== 'aborted' }, false);
  }

  #settle(ending: Ending, isWhole: boolean): void {
    const { agent, clock, inFlight } = this.#parts;
    this.#isOver = true;
    inFlight.delete(this);
    const secrets = this.#status === null ? [] : sentSecrets([...this.#sent, 'token', this.#token ?? '']);
    const result: AttemptResult = {
      deliveryId: this.#request.deliveryId,
      isSuccess: ending.kind === 'success',
      status: this.#status,
      cause: ending.cause,
      kind: ending.kind,
      isEndpointWide: ending.isEndpointWide,
      retryAfterSeconds: this.#retryAfter(clock.now()),
      startedAt: this.#startedAt,
      timings: this.#timings(),
      responseHeaders: shortHeaders(maskedHeaders(this.#headers, secrets)),
      responseBody: maskedBody(this.#body.slice(0, this.#bodyLength), secrets, isWhole),
    };
    if (this.#connection !== null) agent.release(this.#connection, isWhole);
    this.#settled(result);
  }

  #retryAfter(nowMs: number): number | null {
    if (this.#status !== 429 && this.#status !== 503) return null;
    const header = this.#headers['retry-after'];
    return retryAfterSeconds(Array.isArray(header) ? header[0] : header, nowMs);
  }

  #timings(): AttemptTimings {
    const connect = this.#connection?.timings;
    return {
      dnsMs: rounded(connect?.dnsMs ?? null),
      connectMs: rounded(connect?.connectMs ?? null),
      tlsMs: rounded(connect?.tlsMs ?? null),
      firstByteMs: rounded(this.#firstByteMs),
      totalMs: rounded(this.#elapsedMs()),
    };
  }

  #elapsedMs(): number {
    return this.#parts.clock.monotonic() - this.#start;
  }
}

function grown(bytes: Uint8Array): Uint8Array {
  const room = new Uint8Array(responseBodyBytesMax);
  room.set(bytes);
  return room;
}

/** Rounds to hundredths of a millisecond: more digits would only be noise in the attempt log. */
function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100;
}

/** How late a missed deadline may be noticed. */
const TICK_MS = 20;

interface AttemptInFlight {
  /** Ends the attempt when its deadline has passed. */
  check(monotonicNow: number): void;
  abort(): void;
}

/**
 * The attempts under way and their deadlines. One interval checks all of them: there are at most a few thousand, and a timer
 * and an abort signal for each would cost more than the rest of an attempt.
 */
class AttemptsInFlight {
  readonly #clock: Clock;
  readonly #attempts = new Set<AttemptInFlight>();
  #ticker: NodeJS.Timeout | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#attempts.size;
  }

  add(attempt: AttemptInFlight): void {
    this.#attempts.add(attempt);
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS);
  }

  delete(attempt: AttemptInFlight): void {
    this.#attempts.delete(attempt);
  }

  abortAll(): void {
    for (const attempt of this.#attempts) attempt.abort();
  }

  #tick(): void {
    const now = this.#clock.monotonic();
    for (const attempt of this.#attempts) attempt.check(now);
    // The ticker stops here and not at the last delete, so that a quiet lane does not start and stop it for each attempt.
    if (this.#attempts.size > 0 || this.#ticker === null) return;
    clearInterval(this.#ticker);
    this.#ticker = null;
  }
}

const headersJsonBytesMax = 4 * 1024;

/** Returns a response's headers as a JSON object of at most 4 KiB, in their order; those that would not fit are left out. */
function shortHeaders(headers: ResponseHeaders): string {
  const whole = JSON.stringify(headers);
  // The common case needs no cut. UTF-8 takes at most three bytes for one UTF-16 unit.
  if (whole.length * 3 <= headersJsonBytesMax) return whole;
  let json = '';
  let room = headersJsonBytesMax - 2;
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const member = `${json === '' ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`;
    const size = Buffer.byteLength(member);
    if (size > room) continue;
    json += member;
    room -= size;
  }
  return `{${json}}`;
}

const retryAfterSecondsMax = 3_600;

const wholeSeconds = /^\d+$/;
/** All date forms of RFC 9110 begin with the day of the week; `Date.parse` alone would read `-5` as a year. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;
/** The oldest form (asctime) names no zone and means GMT; `Date.parse` would use the machine's zone. */
const withoutZone = /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/** Returns the seconds of a `Retry-After` header, at most an hour; null when it is absent or invalid. */
export function retryAfterSeconds(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  // The number of digits does not matter: a number too large to be exact is also more than an hour.
  if (wholeSeconds.test(text)) return Math.min(Number(text), retryAfterSecondsMax);
  if (!httpDate.test(text)) return null;
  const at = Date.parse(withoutZone.test(text) ? `${text} GMT` : text);
  if (Number.isNaN(at)) return null;
  return Math.min(Math.max(0, Math.ceil((at - nowMs) / 1_000)), retryAfterSecondsMax);
}
