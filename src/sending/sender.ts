import type { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { startThread } from '../base/thread.ts';
import {
  abortedResult,
  type AttemptRequest,
  type AttemptResult,
  type ReceiverTls,
} from './attempt-result.ts';
import type {
  FromWorker,
  NumberedRequest,
  NumberedResult,
  SenderSettings,
  ToWorker,
} from './sender-messages.ts';

/** How much longer than the grace the worker may take to report its stop. */
const STOP_MARGIN_MS = 2_000;
const restartMsMin = 100;
const restartMsMax = 5_000;
/** A worker that lived this long did not die of the same cause as the one before, so the restart delay begins anew. */
const HEALTHY_MS = 10_000;

const workerUrl = new URL('./sender-worker.ts', import.meta.url);

export interface SenderOptions extends SenderSettings {
  readonly clock: Clock;
  readonly logger: Logger;
}

export type ResultsListener = (results: readonly AttemptResult[]) => void;

/** Opens a sender; its thread starts with the first request. */
export function openSender(options: SenderOptions): Sender {
  return new Sender(options);
}

/**
 * The main thread's handle of the sending thread. It accepts requests and reports results, in batches; the caller decides how many
 * are in flight. Every request of {@link send} gets exactly one result, whatever happens to the worker.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #listeners: ResultsListener[] = [];
  /** Every attempt not yet reported, by token. */
  readonly #inFlight = new Map<number, AttemptRequest>();
  /** Handshakes that have not ended, by token. */
  readonly #handshakes = new Map<number, (isReached: boolean) => void>();
  /** Whom the result of a single request goes to, by token. */
  readonly #requests = new Map<number, (result: AttemptResult) => void>();
  #outbox: NumberedRequest[] = [];
  #nextToken = 1;
  #worker: Worker | null = null;
  #startedAt = 0;
  #restartMs = restartMsMin;
  #restartTimer: NodeJS.Timeout | null = null;
  #stopping: Promise<void> | null = null;
  #isStopping = false;
  #hasStopped: (() => void) | null = null;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  onResults(listener: ResultsListener): void {
    this.#listeners.push(listener);
  }

  /** Sends requests. After {@link stop} they are reported as aborted instead. */
  send(requests: readonly AttemptRequest[]): void {
    if (this.#outbox.length === 0 && requests.length > 0) setImmediate(() => this.#flush());
    for (const request of requests) {
      const token = this.#nextToken;
      this.#nextToken += 1;
      this.#inFlight.set(token, request);
      this.#outbox.push({ token, request });
    }
  }

  /** Sends one request whose result goes to the caller alone. Never rejects. */
  request(request: AttemptRequest): Promise<AttemptResult> {
    const { promise, resolve } = Promise.withResolvers<AttemptResult>();
    // The number that it is given below.
    this.#requests.set(this.#nextToken, resolve);
    this.send([request]);
    return promise;
  }

  /** Connects to a URL, through the same guard as an attempt, and sends nothing. Resolves with whether that succeeded; never rejects. */
  handshake(url: string, tls?: ReceiverTls): Promise<boolean> {
    if (this.#worker === null && this.#restartTimer === null && !this.#isStopping) this.#start();
    if (this.#isStopping || this.#worker === null) return Promise.resolve(false);
    const token = this.#nextToken;
    this.#nextToken += 1;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#handshakes.set(token, resolve);
    this.#post({ kind: 'handshake', token, url, tls });
    return promise;
  }

  /** Lets attempts in flight end for `graceMs`, then aborts the rest; resolves when every result has been reported. */
  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(0);
  }

  #start(): void {
    this.#restartTimer = null;
    const { policy, egress, dnsServers, trustedCertificates } = this.#options;
    const settings: SenderSettings = { policy, egress, dnsServers, trustedCertificates };
    const worker = startThread(workerUrl, { workerData: settings, name: 'webhook-sender' });
    this.#worker = worker;
    this.#startedAt = this.#options.clock.monotonic();
    // Only sender-worker.ts holds the other end.
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'results') this.#report(message.results);
      else if (message.kind === 'handshake') this.#endHandshake(message.token, message.isReached);
      else this.#hasStopped?.();
    });
    worker.on('error', (error) => this.#options.logger.error('The sending thread failed.', { error }));
    worker.on('exit', () => this.#onExit());
    this.#flush();
  }

  #flush(): void {
    if (this.#isStopping) return this.#abortOutbox('The service is stopping.');
    if (this.#outbox.length === 0) return;
    // The thread starts with the first request, as it is a fifth of an idle service's memory. After it died, the timer restarts it.
    if (this.#worker === null) {
      if (this.#restartTimer === null) this.#start();
      return;
    }
    const requests = this.#outbox;
    this.#outbox = [];
    this.#post({ kind: 'send', requests });
  }

  async #stop(graceMs: number): Promise<void> {
    this.#flush();
    this.#isStopping = true;
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    const worker = this.#worker;
    if (worker !== null) {
      const stopped = Promise.withResolvers<void>();
      this.#hasStopped = stopped.resolve;
      const timer = setTimeout(stopped.resolve, graceMs + STOP_MARGIN_MS);
      this.#post({ kind: 'stop', graceMs });
      await stopped.promise;
      clearTimeout(timer);
      await worker.terminate();
    }
    this.#abortInFlight('The service is stopping.');
  }

  #endHandshake(token: number, isReached: boolean): void {
    this.#handshakes.get(token)?.(isReached);
    this.#handshakes.delete(token);
  }

  #onExit(): void {
    this.#worker = null;
    for (const token of this.#handshakes.keys()) this.#endHandshake(token, false);
    this.#hasStopped?.();
    if (this.#isStopping) return;
    this.#abortInFlight('The sending thread ended; another one takes over.');
    const hasBeenHealthy = this.#options.clock.monotonic() - this.#startedAt > HEALTHY_MS;
    this.#restartMs = hasBeenHealthy ? restartMsMin : Math.min(this.#restartMs * 2, restartMsMax);
    this.#options.logger.warn('The sending thread ended and is restarted.', { delayMs: this.#restartMs });
    this.#restartTimer = setTimeout(() => this.#start(), this.#restartMs);
  }

  #report(results: readonly NumberedResult[]): void {
    const reported: AttemptResult[] = [];
    for (const { token, result } of results) {
      if (!this.#inFlight.delete(token)) continue;
      const resolve = this.#requests.get(token);
      if (resolve === undefined) reported.push(result);
      else resolve(result);
      this.#requests.delete(token);
    }
    if (reported.length > 0) for (const listener of this.#listeners) listener(reported);
  }

  /** Reports unanswered requests as aborted: they may have reached their receivers, so they have to be sent again. */
  #abortInFlight(cause: string): void {
    this.#outbox = [];
    this.#abort(
      Array.from(this.#inFlight, ([token, request]) => ({ token, request })),
      cause,
    );
  }

  #abortOutbox(cause: string): void {
    const requests = this.#outbox;
    this.#outbox = [];
    this.#abort(requests, cause);
  }

  #abort(requests: readonly NumberedRequest[], cause: string): void {
    const aborted = abortedResult(this.#options.clock.now(), cause);
    this.#report(
      requests.map(({ token, request }) => ({
        token,
        result: { deliveryId: request.deliveryId, ...aborted },
      })),
    );
  }

  #post(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }
}
