/**
 * The messages between the main thread and the sending thread: plain objects, in batches. A body must have a buffer of its own,
 * as posting a view copies all of the buffer under it.
 */
import type { NetworkPolicy } from '../network/address-guard.ts';
import type { Egress } from '../network/proxy-tunnel.ts';
import type { AttemptRequest, AttemptResult, ReceiverTls } from './attempt-result.ts';

/** The settings of the sending worker. */
export interface SenderSettings {
  readonly policy: NetworkPolicy;
  readonly egress?: Egress | undefined;
  /** Name servers instead of the system's, for tests. */
  readonly dnsServers?: readonly string[] | undefined;
  /** PEM certificates trusted instead of the system's, for tests. */
  readonly trustedCertificates?: string | undefined;
}

/** `token`: a number that the main thread gives each attempt, so that results find their requests whatever ids those have. */
export interface NumberedRequest {
  readonly token: number;
  readonly request: AttemptRequest;
}

export interface NumberedResult {
  readonly token: number;
  readonly result: AttemptResult;
}

export type ToWorker =
  | { readonly kind: 'send'; readonly requests: readonly NumberedRequest[] }
  /** To connect to a URL, and to send nothing. */
  | {
      readonly kind: 'handshake';
      readonly token: number;
      readonly url: string;
      readonly tls: ReceiverTls | undefined;
    }
  /** The last message: let attempts in flight end for `graceMs`, abort the rest, then post `stopped`. */
  | { readonly kind: 'stop'; readonly graceMs: number };

export type FromWorker =
  | { readonly kind: 'results'; readonly results: readonly NumberedResult[] }
  | { readonly kind: 'handshake'; readonly token: number; readonly isReached: boolean }
  | { readonly kind: 'stopped' };
