import { codeOf } from '../base/process.ts';
import { ConnectFailure } from '../network/open-socket.ts';
import type { SigningKey } from '../secrets/signing-key.ts';
import type { ClientCredentials } from './client-credentials.ts';

/** One request to be made. Plain data: it is posted to the sending worker. */
export interface AttemptRequest {
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly url: string;
  /** Sent and signed as they are. */
  readonly body: Uint8Array;
  /** Asks for consent instead, by OPTIONS and without a body; absent for a POST. */
  readonly consent?: { readonly origin: string };
  /** Whether the body has only the id of the record, as all of it would be too large. */
  readonly isThin: boolean;
  readonly eventId: string;
  readonly event: string;
  readonly collection: string;
  /** Whether it tests the endpoint with a record that was not changed. */
  readonly isTest?: boolean;
  /** 1 for the delivery's first attempt. */
  readonly attempt: number;
  /** The record's revision: 1, 2, 3 … */
  readonly sequence: number;
  /** The headers by which the receiver goes on with the trace of the change; empty where there is none. */
  readonly traceparent: string;
  readonly tracestate: string;
  /** The change in the headers; absent where it is unknown. `changed` has names of fields with commas between them. */
  readonly cause?: {
    readonly actor: string;
    readonly hops: number;
    readonly changed: string;
    /** The id of the backfill; absent for a change. */
    readonly backfill?: string;
    /** Whether the record came to match the endpoint's conditions, or matches them no more; absent for a change. */
    readonly transition?: 'enter' | 'leave';
  };
  /** The further headers of CloudEvents; absent where they are off. */
  readonly cloudEvent?: {
    readonly source: string;
    readonly subject: string;
    /** A URL; empty where the event is about no record. */
    readonly schema: string;
    readonly time: string;
  };
  /** Set for a batch: `body` is an array, `eventId` the id of the batch, and what is about one event is that of the first. */
  readonly batch?: BatchFacts;
  readonly customHeaders: Readonly<Record<string, string>>;
  /** The credentials for the token; absent without one. Another `updated` invalidates earlier tokens. */
  readonly oauth2?: ClientCredentials & { readonly updated: string };
  /** How TLS to the receiver differs from the usual; absent where it does not. */
  readonly tls?: ReceiverTls;
  /** The current secret, and during the overlap of a rotation the previous one. */
  readonly secrets: readonly string[];
  /** The keys of `v1a` signatures, in the same order; absent without such. */
  readonly signingKeys?: readonly Pick<SigningKey, 'd' | 'x'>[];
  /** From the first DNS packet to the last byte of the answer. */
  readonly timeoutMs: number;
  /** The version of this service, for `User-Agent`. */
  readonly version: string;
}

/** What the headers of a batch tell of its events, a value for each in their order. */
export interface BatchFacts {
  readonly ids: readonly string[];
  readonly sequences: readonly number[];
  readonly transitions: readonly string[];
  /** Whether only the id of the record was sent, as all of it would have been too large. */
  readonly isThin: readonly boolean[];
}

/** TLS with one receiver. It does not apply to the server that issues access tokens. */
export interface ReceiverTls {
  /** PEM certificates that are trusted in place of the system's; empty for those. */
  readonly ca: string;
  /** What the receiver is shown; null for nothing. */
  readonly client: { readonly certificate: string; readonly key: string } | null;
}

export const attemptKinds = [
  'success',
  'status',
  'timeout',
  'dns',
  'connect',
  'tls',
  'refused',
  'protocol',
  'proxy',
  'aborted',
] as const;

export type AttemptKind = (typeof attemptKinds)[number];

/** In ms; null where the step was not taken: an open connection needs no DNS, a dead one sends no first byte. */
export interface AttemptTimings {
  readonly dnsMs: number | null;
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  readonly firstByteMs: number | null;
  readonly totalMs: number | null;
}

/** The result of an attempt. Every failure is a value: sending never throws for anything a receiver does. */
export interface AttemptResult {
  readonly deliveryId: string;
  readonly isSuccess: boolean;
  /** The response's status; set even when the attempt failed after it had arrived. */
  readonly status: number | null;
  /** In plain words for the endpoint's owner; empty on success. */
  readonly cause: string;
  /** `aborted`: ended early by this service. The request may have reached the receiver, and must not count as an attempt. */
  readonly kind: AttemptKind;
  /** Whether another event would most likely fail in the same way. */
  readonly isEndpointWide: boolean;
  /** `Retry-After` of a 429 or 503, at most an hour; otherwise null. */
  readonly retryAfterSeconds: number | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly timings: AttemptTimings;
  /** A JSON object of the response's headers, at most 4 KiB; later headers are left out, and secrets of the request are masked. */
  readonly responseHeaders: string;
  /** The first 16 KiB of the response's body, with secrets of the request masked. */
  readonly responseBody: Uint8Array;
}

/** The result of an attempt that this service ended early or never began; the caller adds the delivery's id. */
export function abortedResult(startedAt: number, cause: string): Omit<AttemptResult, 'deliveryId'> {
  return {
    isSuccess: false,
    status: null,
    cause,
    kind: 'aborted',
    isEndpointWide: false,
    retryAfterSeconds: null,
    startedAt,
    timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: null },
    responseHeaders: '{}',
    responseBody: new Uint8Array(0),
  };
}

export interface AttemptFailure {
  readonly kind: Exclude<AttemptKind, 'success' | 'status'>;
  /** In plain words. */
  readonly cause: string;
}

const protocolWords: Readonly<Record<string, string>> = {
  ANSWER_TOO_LONG: 'The answer has too many headers or interim answers.',
  UND_ERR_HEADERS_OVERFLOW: "The answer's headers are larger than 16 KiB.",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'The answer has another length than it announced.',
  UND_ERR_INVALID_ARG: "The request could not be built: one of the endpoint's own headers is not valid.",
};

/** undici reports 100 Continue, a switch of protocol and an answer before any request with errors that cannot be told apart. */
const unasked =
  'The receiver sent an unexpected response, such as 100 Continue or a switch to another protocol.';

/** Returns the failure of an attempt for an error of the connection or of undici; `hasAnswer`: a part of the response had arrived. */
export function attemptFailure(error: unknown, hasAnswer: boolean): AttemptFailure {
  if (error instanceof ConnectFailure) return { kind: error.kind, cause: error.message };
  const code = codeOf(error);
  const words = protocolWords[code];
  if (words !== undefined) return { kind: 'protocol', cause: words };
  if (code === 'UND_ERR_SOCKET' && error instanceof Error && error.message.startsWith('bad ')) {
    return { kind: 'protocol', cause: unasked };
  }
  // With TLS 1.3 a receiver rejects a client certificate only after the connection is open.
  if (code.startsWith('ERR_SSL_')) return { kind: 'tls', cause: alertWords(code) };
  if (['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(code)) {
    return hasAnswer
      ? { kind: 'protocol', cause: 'The connection was closed in the middle of the answer.' }
      : { kind: 'connect', cause: 'The connection was closed without an answer.' };
  }
  return { kind: 'protocol', cause: `The answer is not valid HTTP (${code || 'unknown'}).` };
}

function alertWords(code: string): string {
  if (code.endsWith('ALERT_CERTIFICATE_REQUIRED')) return 'The receiver requires a client certificate.';
  if (
    /ALERT_(?:BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_\w+|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)$/.test(code)
  )
    return 'The receiver rejected the client certificate.';
  return `The receiver ended TLS (${code}).`;
}

const redirects = new Set([301, 302, 303, 307, 308]);

/** Why an attempt failed whose answer has this status. */
export function statusCause(status: number): string {
  return redirects.has(status)
    ? `The receiver answered with a redirect (status ${status}), which is not followed.`
    : `The receiver answered with status ${status}.`;
}

/** True for statuses that say something about the receiver as a whole rather than about one event. */
export function isEndpointWideStatus(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}
