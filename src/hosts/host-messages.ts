import type { MessagePort } from 'node:worker_threads';
import type { Caller } from '../access/caller.ts';
import { AppError, type ErrorCode, type FieldErrors } from '../base/errors.ts';
import type { LongTurn } from '../base/turn-meter.ts';
import type { Trace } from '../base/trace-context.ts';
import type { Config } from '../config/config.ts';
import type { ErrorAnswer } from '../http/error-response.ts';
import type { InstanceRequest } from '../http/instance-request.ts';
import type { DueTimes } from '../instances/due-index.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { Metric } from '../logs/metric.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { Settings } from '../settings/settings.ts';
import type { FaultyPlaces } from '../storage/storage-health.ts';

/*
 * What the front and a host in another thread send each other. All of it can be cloned; what is long goes over a port of its own
 * (port-streams.ts).
 */

/** What a host is started with. */
export interface HostSettings {
  readonly config: Config;
  readonly place: number;
  /** Of bodies and answers in the memory of this host. */
  readonly memoryBytes: number;
  /** How many attempts of webhooks it may have open. */
  readonly slotsMax: number;
  /** Who decides about each request; see `Claims`. */
  readonly claims: SharedArrayBuffer;
  /** Counts the turns of the host's event loop, at most one each 50 ms. */
  readonly beats: SharedArrayBuffer;
}

export type ToHost =
  | { readonly kind: 'requests'; readonly requests: readonly RequestMessage[] }
  /** The client of a request has gone away. */
  | { readonly kind: 'gone'; readonly token: number }
  | {
      readonly kind: 'refusal';
      readonly entry: InstanceEntry;
      readonly request: LoggedMessage;
      readonly error: ErrorMessage;
    }
  /** These instances are run by this host from now on. */
  | { readonly kind: 'place'; readonly ids: readonly string[] }
  | ({ readonly token: number } & Question)
  /** The metrics that it asked for; undefined where they could not be written. */
  | { readonly kind: 'exposition'; readonly token: number; readonly exposition: Exposition | undefined }
  | { readonly kind: 'stopSending' }
  | { readonly kind: 'stop' };

export type FromHost =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'answers'; readonly answers: readonly AnswerMessage[] }
  | { readonly kind: 'form'; readonly token: number; readonly bytesMax: number; readonly port: MessagePort }
  | ReplyMessage
  | { readonly kind: 'expose'; readonly token: number }
  | { readonly kind: 'longTurn'; readonly turn: LongTurn }
  /** An instance was closed, with what is due in it. */
  | { readonly kind: 'closed'; readonly id: string; readonly times: DueTimes }
  /** Where data cannot be used as it should be; sent when that changes. */
  | { readonly kind: 'faults'; readonly places: FaultyPlaces }
  | { readonly kind: 'stopped'; readonly what: 'sending' | 'all' };

/** What the front asks a host, which replies. */
export type Question =
  | { readonly kind: 'frameAncestors'; readonly entry: InstanceEntry }
  | { readonly kind: 'metrics' }
  /** This instance is to be run elsewhere. */
  | { readonly kind: 'leave'; readonly id: string }
  /** This instance is to be opened. */
  | { readonly kind: 'visit'; readonly entry: InstanceEntry };

export type ReplyMessage =
  | { readonly kind: 'sites'; readonly token: number; readonly sites: readonly string[] }
  | { readonly kind: 'counts'; readonly token: number; readonly metrics: readonly MetricMessage[] }
  | { readonly kind: 'done'; readonly token: number; readonly isDone: boolean };

export interface LoggedMessage {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly headers: InstanceRequest['headers'];
  readonly peer: Uint8Array;
  /** Milliseconds since it came. */
  readonly ageMs: number;
}

export interface RequestMessage extends LoggedMessage {
  readonly token: number;
  /** The id of its operation. */
  readonly route: string;
  readonly isOperator: boolean;
  readonly entry: InstanceEntry;
  readonly fullUrl: string;
  readonly params: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array | undefined;
  readonly bodyBytes: number;
  readonly isFormWaiting: boolean;
}

/** What a host knows of a request; see `RequestReport`. */
export interface ReportMessage {
  readonly caller: Caller | null;
  readonly address: Uint8Array | null;
  /** Which headers of proxies the instance trusts, where that has changed. */
  readonly trustedProxy: Settings['trustedProxy'] | null;
  readonly trace: Trace | null;
  readonly rateLimitHeaders: Readonly<Record<string, string>> | null;
  readonly isNoted: boolean;
}

export interface AnswerMessage {
  readonly token: number;
  readonly report: ReportMessage;
  readonly answer:
    | { readonly kind: 'failed'; readonly error: ErrorAnswer }
    | ({ readonly kind: 'text'; readonly json: string | undefined } & HeadMessage)
    | ({ readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly isFile: boolean } & HeadMessage)
    | ({
        readonly kind: 'stream';
        readonly length: number;
        readonly isFile: boolean;
        readonly port: MessagePort | undefined;
      } & HeadMessage)
    | ({ readonly kind: 'open'; readonly port: MessagePort } & HeadMessage);
}

export interface HeadMessage {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** Over the port of a form, to the host: its files, each over a port of its own, then its fields. */
export type ToForm =
  | {
      readonly kind: 'file';
      readonly name: string;
      readonly originalName: string;
      readonly content: MessagePort;
    }
  | {
      readonly kind: 'fields';
      readonly fields: readonly (readonly [name: string, value: string])[] | undefined;
      readonly bytes: number;
    }
  | { readonly kind: 'failed'; readonly error: ErrorMessage; readonly bytes: number };

/** Over the port of a form, from the host: how many bytes of the last file it has stored; undefined where it could not be taken. */
export interface FromForm {
  readonly size: number | undefined;
}

export type MetricMessage = Pick<Metric, 'name' | 'help' | 'type'> & {
  readonly samples: readonly SampleMessage[];
};

export interface SampleMessage {
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly value: number | HistogramMessage;
}

export interface HistogramMessage {
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  readonly sum: number;
}

/** An error that a client may see; undefined stands for any other. */
export type ErrorMessage =
  | {
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: FieldErrors;
      readonly retryAfter: number | undefined;
    }
  | undefined;

export function toErrorMessage(error: unknown): ErrorMessage {
  if (!(error instanceof AppError)) return undefined;
  const { code, message, details, retryAfter } = error;
  return { code, message, details, retryAfter };
}

export function fromErrorMessage(message: ErrorMessage): Error {
  if (message === undefined) return new Error('The other thread has failed.');
  const { code, details, retryAfter } = message;
  return new AppError(code, message.message, { details, ...(retryAfter !== undefined && { retryAfter }) });
}
