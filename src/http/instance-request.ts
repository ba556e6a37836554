import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../access/caller.ts';
import type { Trace } from '../base/trace-context.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { RowMemory } from '../query/list-query.ts';
import type { Settings } from '../settings/settings.ts';
import type { FilePart, FormEntry } from './parse-multipart.ts';

/**
 * A request to an instance, as the host that serves it sees it. Connections, HTTP and the limits of bytes are the front's (server/); a host
 * gets what was sent, and does not know how it came.
 */
export interface InstanceRequest {
  /** Identifies the request in logs and in its answer. */
  readonly id: string;
  readonly entry: InstanceEntry;
  /** Whether the operator makes it: only a front can say so, of a request that no client has sent. */
  readonly isOperator: boolean;
  readonly method: string;
  /** Path and query, without the prefix that names the instance. */
  readonly url: string;
  /** The URL that the client has sent it to: `https://api.example.com/i/shop/api/health`. */
  readonly fullUrl: string;
  readonly headers: IncomingHttpHeaders;
  /** The parameters of the path, by their names in the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The address at the other end of the connection. */
  readonly peer: Uint8Array;
  /** When it came: milliseconds by the monotonic clock. */
  readonly startedMs: number;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** Whether the connection of the client has ended. */
  readonly isGone: boolean;
  /** The body; undefined where there is none, or where it is a form that is still to be read. */
  readonly bytes: Buffer | undefined;
  /** Length of the body that was received. */
  readonly bodyBytes: number;
  /** Whether the body is a form that the route has still to read. */
  readonly isFormWaiting: boolean;
  /** What the host knows of the request, for the front. */
  readonly report: RequestReport;

  /** Returns the memory of the answer, which counts for this client of the instance. */
  memoryFor(client: string): ReservedMemory;
  /**
   * Reads the form that is waiting. Returns its fields; undefined where the client has sent none. Throws payload_too_large, unavailable,
   * bad_request for what is no form, and what `takeFile` throws.
   */
  readForm(reading: FormReading): Promise<readonly FormEntry[] | undefined>;
}

/** The memory of one answer, out of what all answers and bodies share. */
export interface ReservedMemory extends RowMemory {
  /** Reserves memory for an answer of so many characters that is about to be sent. Throws unavailable, unless it must be sent. */
  admitAnswer(length: number, how: { readonly isCertain: boolean }): Promise<void>;
}

export interface FormReading {
  /** Of the whole form. */
  readonly bytesMax: number;
  /** Takes a file, read to its end. Returns how many bytes of it are kept. */
  readonly takeFile: (file: FilePart) => Promise<number>;
}

/** What a host finds out about a request that the front needs for logs and headers, also where the request fails. */
export interface RequestReport {
  /** Who makes the request; null until that is known. */
  caller: Caller | null;
  /** The address of the client by the settings of the instance; null until the instance is open. */
  address: (() => Uint8Array) | null;
  /** Which headers of proxies the instance trusts; null until it is open. */
  trustedProxy: Settings['trustedProxy'] | null;
  /** The trace of the request; null until it is first read. */
  trace: Trace | null;
  /** How many requests the client has left; null where no rule limits it. */
  rateLimitHeaders: Readonly<Record<string, string>> | null;
  /** Whether the request is already in the log of its instance. */
  isNoted: boolean;
}

/** Returns the report of a request, which is begun here if nobody has asked for it before. */
export function reportOf(request: { report: RequestReport | null }): RequestReport {
  return (request.report ??= emptyReport());
}

export function emptyReport(): RequestReport {
  return {
    caller: null,
    address: null,
    trustedProxy: null,
    trace: null,
    rateLimitHeaders: null,
    isNoted: false,
  };
}
