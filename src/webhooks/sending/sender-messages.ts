/**
 * How attempts and their results travel between the main thread and the sending thread: many at once, as one JSON text and one
 * block of bytes. Cloning them as objects costs several times as much, and cloning a small view into a shared buffer would copy
 * all of that buffer.
 */
import type { NetworkPolicy } from '../../network/address-guard.ts';
import type { AttemptKind, AttemptRequest, AttemptResult } from './attempt-result.ts';

/** What the sending worker is started with. */
export interface SenderSettings {
  readonly policy: NetworkPolicy;
  /** Name servers asked instead of the system's, for tests. */
  readonly dnsServers?: readonly string[] | undefined;
  /** PEM certificates trusted instead of the system's, for tests. */
  readonly trustedCertificates?: string | undefined;
}

/** `token`: a number that the main thread gives each attempt, so that results find their requests whatever ids those have. */
export interface NumberedRequest {
  readonly token: number;
  readonly request: AttemptRequest;
}

/** A result on its way; it needs no delivery id, as the main thread still has the request. */
export interface NumberedResult {
  readonly token: number;
  readonly result: Omit<AttemptResult, 'deliveryId'>;
}

export interface Packed {
  readonly json: string;
  /** The bodies in the order of the rows, without gaps. */
  readonly bytes: Uint8Array;
}

export type ToWorker =
  | { readonly kind: 'send'; readonly requests: Packed }
  /** The last message: let attempts in flight end for `graceMs`, abort the rest, then answer `stopped`. */
  | { readonly kind: 'stop'; readonly graceMs: number };

export type FromWorker =
  { readonly kind: 'results'; readonly results: Packed } | { readonly kind: 'stopped' };

type RequestRow = readonly [token: number, bodyLength: number, request: Omit<AttemptRequest, 'body'>];

export function packRequests(numbered: readonly NumberedRequest[]): Packed {
  const rows: RequestRow[] = numbered.map(({ token, request }) => {
    const { body, ...rest } = request;
    return [token, body.length, rest];
  });
  return { json: JSON.stringify(rows), bytes: joined(numbered.map(({ request }) => request.body)) };
}

export function unpackRequests(packed: Packed): NumberedRequest[] {
  // Written by packRequests of this same file.
  const rows = JSON.parse(packed.json) as readonly RequestRow[];
  let at = 0;
  return rows.map(([token, bodyLength, rest]) => {
    const body = packed.bytes.subarray(at, at + bodyLength);
    at += bodyLength;
    return { token, request: { ...rest, body } };
  });
}

/** An array and not an object, as the member names would be longer than the values. */
type ResultRow = readonly [
  token: number,
  bodyLength: number,
  kind: AttemptKind,
  status: number | null,
  cause: string,
  isEndpointWide: boolean,
  retryAfterSeconds: number | null,
  startedAt: number,
  dnsMs: number | null,
  connectMs: number | null,
  tlsMs: number | null,
  firstByteMs: number | null,
  totalMs: number | null,
  responseHeaders: string,
];

export function packResults(numbered: readonly NumberedResult[]): Packed {
  const json = JSON.stringify(numbered.map(toRow));
  return { json, bytes: joined(numbered.map(({ result }) => result.responseBody)) };
}

export function unpackResults(packed: Packed): NumberedResult[] {
  // Written by packResults of this same file.
  const rows = JSON.parse(packed.json) as readonly ResultRow[];
  let at = 0;
  return rows.map((row) => {
    // A copy, so that one kept body does not keep the bodies of its whole batch.
    const responseBody = packed.bytes.slice(at, at + row[1]);
    at += row[1];
    return fromRow(row, responseBody);
  });
}

function toRow({ token, result }: NumberedResult): ResultRow {
  const { timings } = result;
  return [
    token,
    result.responseBody.length,
    result.kind,
    result.status,
    result.cause,
    result.isEndpointWide,
    result.retryAfterSeconds,
    result.startedAt,
    timings.dnsMs,
    timings.connectMs,
    timings.tlsMs,
    timings.firstByteMs,
    timings.totalMs,
    result.responseHeaders,
  ];
}

function fromRow(row: ResultRow, responseBody: Uint8Array): NumberedResult {
  const [token, , kind, status, cause, isEndpointWide, retryAfterSeconds, startedAt, ...rest] = row;
  const [dnsMs, connectMs, tlsMs, firstByteMs, totalMs, responseHeaders] = rest;
  const timings = { dnsMs, connectMs, tlsMs, firstByteMs, totalMs };
  const isSuccess = kind === 'success';
  return {
    token,
    result: {
      isSuccess,
      status,
      cause,
      kind,
      isEndpointWide,
      retryAfterSeconds,
      startedAt,
      timings,
      responseHeaders,
      responseBody,
    },
  };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  // Not from Buffer's pool: posting it would clone the whole pool.
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
