import type { Dispatcher } from 'undici';
import { assert } from '../base/assert.ts';
import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import type { Clock } from '../base/clock.ts';
import type { ClientCredentials } from './client-credentials.ts';
import { attemptFailure, type AttemptFailure } from './attempt-result.ts';
import type { GuardedAgent } from './guarded-agent.ts';
import type { GuardedConnection } from './guarded-connection.ts';
import { masked, sentSecrets } from './mask-secrets.ts';

/** The parts of the sender that token requests use: guarded connections, as for webhooks, and deadlines. */
export interface TokenParts {
  readonly agent: GuardedAgent;
  readonly clock: Clock;
  readonly inFlight: { add(request: TokenRequest): void; delete(request: TokenRequest): void };
}

export interface TokenQuery {
  readonly endpointId: string;
  readonly oauth2: ClientCredentials & { readonly updated: string };
  readonly timeoutMs: number;
  readonly version: string;
}

export type TokenResult =
  { readonly kind: 'token'; readonly token: string } | ({ readonly kind: 'failed' } & Failure);

interface Failure {
  readonly failure: AttemptFailure;
}

interface CachedToken {
  readonly updated: string;
  readonly result: Promise<TokenResult>;
  /** Set once it was fetched. */
  token: string | undefined;
  /** By the monotonic clock; while it is being fetched it does not expire. */
  expiresAt: number;
}

/** Endpoints whose tokens are cached; as many as have connections. */
const tokensMax = 4_096;
/** A token is evicted this long before it expires, as a request with it takes time. */
const marginMs = 30_000;
const lifetimeMsMin = 1_000;
const lifetimeMsMax = 86_400_000;
/** The lifetime of a token whose server does not send one. */
const lifetimeMsInitial = 300_000;

/**
 * The tokens of OAuth 2.0 that endpoints' requests carry, in the memory of the sending thread alone. An endpoint has one, which its
 * attempts share, as they do the request for it.
 */
export class AccessTokens {
  readonly #parts: TokenParts;
  /** By the id of the endpoint, the least recently used first. */
  readonly #tokens = new Map<string, CachedToken>();

  constructor(parts: TokenParts) {
    this.#parts = parts;
  }

  /** Returns the token for the current version of an endpoint, and fetches it if necessary. Never rejects. */
  get(query: TokenQuery): Promise<TokenResult> {
    const { endpointId, oauth2 } = query;
    const cached = this.#tokens.get(endpointId);
    this.#tokens.delete(endpointId);
    const isGood = cached?.updated === oauth2.updated && this.#parts.clock.monotonic() < cached.expiresAt;
    const entry = isGood ? cached : this.#fetch(query);
    this.#tokens.set(endpointId, entry);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > tokensMax && oldest !== undefined) this.#tokens.delete(oldest);
    return entry.result;
  }

  /** Evicts a token that the receiver rejected, unless there is another one by now. */
  drop(endpointId: string, token: string): void {
    if (this.#tokens.get(endpointId)?.token === token) this.#tokens.delete(endpointId);
  }

  #fetch(query: TokenQuery): CachedToken {
    const { clock } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<TokenResult>();
    const entry: CachedToken = {
      updated: query.oauth2.updated,
      result: promise,
      token: undefined,
      expiresAt: Number.POSITIVE_INFINITY,
    };
    const request = new TokenRequest(query, this.#parts, (answer) => {
      if (answer.kind === 'token') {
        entry.token = answer.token;
        entry.expiresAt = clock.monotonic() + answer.lifetimeMs;
      }
      // A failure is not cached: only waiting attempts get it.
      else entry.expiresAt = Number.NEGATIVE_INFINITY;
      resolve(answer);
    });
    request.start();
    return entry;
  }
}

type TokenAnswer =
  | { readonly kind: 'token'; readonly token: string; readonly lifetimeMs: number }
  | ({ readonly kind: 'failed' } & Failure);

const answerBytesMax = 64 * 1_024;
const tokenLengthMax = 8_192;
/** The characters after `Bearer` in a header: wider than RFC 6750 section 2.1, as servers are. */
const sendable = /^[\x21-\x7e]+$/;

/**
 * One request for a token (RFC 6749 section 4.4.2), to an address that has passed the same checks as that of an endpoint. A redirect is
 * not followed: the client's secret goes nowhere else.
 */
export class TokenRequest implements Dispatcher.DispatchHandler {
  readonly #query: TokenQuery;
  readonly #parts: TokenParts;
  readonly #settled: (answer: TokenAnswer) => void;
  readonly #deadline: number;
  #connection: GuardedConnection | null = null;
  #path = '';
  #authorization = '';
  #isOver = false;
  #status: number | null = null;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(query: TokenQuery, parts: TokenParts, settled: (answer: TokenAnswer) => void) {
    this.#query = query;
    this.#parts = parts;
    this.#settled = settled;
    this.#deadline = parts.clock.monotonic() + query.timeoutMs;
  }

  start(): void {
    const { endpointId, oauth2 } = this.#query;
    // Connections of its own: a receiver never gets one that has carried the secret of the client.
    const checkout = this.#parts.agent.checkOut(`${endpointId} token`, oauth2.tokenUrl);
    if (checkout.kind === 'refused') return this.#fail({ kind: 'refused', cause: checkout.reason });
    this.#connection = checkout.connection;
    this.#path = checkout.path;
    this.#parts.inFlight.add(this);
    this.#dispatch(checkout.connection);
  }

  check(monotonicNow: number): void {
    if (this.#deadline > monotonicNow) return;
    this.#fail({ kind: 'timeout', cause: 'there was no complete answer in time.' });
  }

  abort(): void {
    this.#fail({ kind: 'aborted', cause: 'the service stopped before the answer was complete.' });
  }

  /** undici requires this method, but offers nothing in it that the connection does not already have. */
  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (!this.#isOver && status >= 200) this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#length += chunk.length;
    if (this.#length > answerBytesMax)
      return this.#fail({ kind: 'protocol', cause: 'the answer is larger than 64 KiB.' });
    this.#chunks.push(Buffer.from(chunk));
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    const status = this.#status ?? 0;
    const answer = answerOf(Buffer.concat(this.#chunks).toString('utf8'));
    const token = status >= 200 && status < 300 ? tokenOf(answer) : this.#refusal(status, answer);
    if (token.kind === 'token') this.#settle(token, true);
    else this.#fail(token.failure, true);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    const failure = attemptFailure(error, this.#status !== null);
    const connection = this.#connection;
    if (failure.kind !== 'connect' || connection?.isReused !== true) return this.#fail(failure);
    // The server had closed the connection, as in `RunningAttempt`.
    queueMicrotask(() => {
      if (!this.#isOver) this.#dispatch(connection);
    });
  }

  #dispatch(connection: GuardedConnection): void {
    const { oauth2, version } = this.#query;
    const { clientId, clientSecret, scope, audience } = oauth2;
    const client = Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64');
    this.#authorization = `Basic ${client}`;
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    if (scope !== undefined) form.set('scope', scope);
    if (audience !== undefined) form.set('audience', audience);
    const headers = ['Content-Type', 'application/x-www-form-urlencoded', 'Accept', 'application/json'];
    headers.push('Accept-Encoding', 'identity', 'User-Agent', `Chancery/${version}`);
    headers.push('Authorization', this.#authorization);
    const body = form.toString();
    connection.dispatch({ method: 'POST', path: this.#path, headers, body }, this, this.#deadline);
  }

  /** Returns why there is no token, with the error of the server (RFC 6749 section 5.2). */
  #refusal(status: number, answer: JsonObject | undefined): TokenAnswer {
    const words = ['error', 'error_description'].flatMap((name) => {
      const text = answer === undefined ? undefined : ownMember(answer, name);
      return typeof text === 'string' && text !== '' ? [this.#quote(text)] : [];
    });
    const quote = words.length === 0 ? '' : ` It said: ${words.join(': ')}`;
    return failed(`the server answered with status ${status}.${quote}`);
  }

  /** A text of the server, with secrets of the request masked. */
  #quote(text: string): string {
    const { clientSecret } = this.#query.oauth2;
    const sent = ['authorization', this.#authorization, 'secret', clientSecret];
    const secrets = sentSecrets([...sent, 'secret', formEncoded(clientSecret)]);
    return masked(text, secrets)
      .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
      .slice(0, quotedLengthMax)
      .toWellFormed();
  }

  #fail({ kind, cause }: AttemptFailure, isWhole = false): void {
    if (this.#isOver) return;
    this.#settle({ kind: 'failed', failure: tokenFailure({ kind, cause }) }, isWhole);
  }

  #settle(answer: TokenAnswer, isWhole: boolean): void {
    this.#isOver = true;
    this.#parts.inFlight.delete(this);
    if (this.#connection !== null) this.#parts.agent.release(this.#connection, isWhole);
    this.#settled(answer);
  }
}

/** Returns the failure of an attempt without a token. */
export function tokenFailure({ kind, cause }: AttemptFailure): AttemptFailure {
  const reason = cause.replace(/^(?:The|This|No) /, (word) => word.toLowerCase());
  return { kind, cause: `The token request failed: ${reason}` };
}

/** Limits the quote of a server's response. */
const quotedLengthMax = 200;

/** As in a form: RFC 6749 section 2.3.1 has both halves of the header encoded so. */
function formEncoded(text: string): string {
  const encoded = new URLSearchParams([['', text]]).toString();
  assert(encoded.startsWith('='), 'a pair without a name begins with its sign');
  return encoded.slice(1);
}

function answerOf(text: string): JsonObject | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    return isJsonObject(answer) ? answer : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a token (RFC 6749 section 5.1). */
function tokenOf(answer: JsonObject | undefined): TokenAnswer {
  if (answer === undefined) return failed('the answer is not a JSON object.');
  const token = ownMember(answer, 'access_token');
  const type = ownMember(answer, 'token_type') ?? 'Bearer';
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    return failed('the token is of a type other than Bearer.');
  if (typeof token !== 'string' || token.length > tokenLengthMax || !sendable.test(token))
    return failed('the answer has no token that can be sent.');
  return { kind: 'token', token, lifetimeMs: lifetimeOf(ownMember(answer, 'expires_in')) };
}

/** Some servers send the number as text. */
function lifetimeOf(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' && expiresIn !== '' ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || Number.isNaN(seconds)) return lifetimeMsInitial;
  return Math.min(lifetimeMsMax, Math.max(lifetimeMsMin, seconds * 1_000 - marginMs));
}

function failed(cause: string): { readonly kind: 'failed' } & Failure {
  return { kind: 'failed', failure: { kind: 'protocol', cause } };
}
