import { setTimeout as delay } from 'node:timers/promises';
import { build } from '../base/build.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { newTimeOrderedId, randomUnit } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { deliveryId } from '../deliveries/deliveries.ts';
import { signingSecrets } from '../endpoints/endpoint.ts';
import { payloadOf } from '../events/event.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import type { Sender } from '../sending/sender.ts';
import type { OperatorEndpoint } from './operator-endpoint.ts';
import type { OperatorEndpointStore } from './operator-endpoint-store.ts';
import type { OperatorEventView } from './operator-feed.ts';

/** How soon an event of any process is sent. */
const pollMs = 500;
/** Open tests of one process: nothing else limits how many a receiver gets. */
const testsMax = 8;
/** How soon a result is written again that could not be written. */
const rewriteMs = 1_000;
const timeoutMs = 15_000;

export interface OperatorDispatcherOptions {
  readonly store: OperatorEndpointStore;
  readonly sender: Pick<Sender, 'send' | 'onResults' | 'stop'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

type SentEvent = Omit<OperatorEventView, 'kind'> & {
  readonly kind: string;
  /** Its position in the feed; 0 for a test. */
  readonly position: number;
};

/**
 * Sends the events of the operator to its endpoints: to each one event at a time, in their order, by one process at a time. The position of an
 * endpoint moves once its event is accepted, so a process that dies repeats at most the event that was on its way.
 */
export class OperatorDispatcher {
  readonly #options: OperatorDispatcherOptions;
  /** What waits for the result of an attempt, by the id of its delivery. */
  readonly #open = new Map<string, (result: AttemptResult) => void>();
  /** The endpoints that this process sends to, at most as many as there are. */
  readonly #lanes = new Map<string, Promise<void>>();
  #poller: Poller | undefined;
  #isStopping = false;
  #tests = 0;

  constructor(options: OperatorDispatcherOptions) {
    this.#options = options;
    options.sender.onResults((results) => {
      for (const result of results) {
        this.#open.get(result.deliveryId)?.(result);
        this.#open.delete(result.deliveryId);
      }
    });
  }

  start(): void {
    const { logger } = this.#options;
    this.#poller = new Poller({
      intervalMs: pollMs,
      poll: () => this.#poll(),
      onError: (error) => logger.warn('Looking for operator events to send failed; retrying.', { error }),
    });
  }

  /** Begins no further attempt; those on their way have `graceMs` to end. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#poller?.stop();
    await this.#options.sender.stop(graceMs);
    await Promise.all(this.#lanes.values());
  }

  /** Sends the event `ping` to an endpoint, once. Throws too_many_requests while `testsMax` others are open. */
  async test(endpoint: OperatorEndpoint): Promise<AttemptResult> {
    if (this.#tests >= testsMax)
      throw new AppError('too_many_requests', `At most ${testsMax} tests of endpoints can be under way.`, {
        retryAfter: 1,
      });
    const now = this.#options.clock.now();
    const ping = {
      id: newTimeOrderedId(now),
      kind: 'ping',
      instance: '',
      created: toTimestamp(now),
      data: {},
    };
    this.#tests += 1;
    try {
      return await this.#attempt(endpoint, { ...ping, position: 0 }, 1);
    } finally {
      this.#tests -= 1;
    }
  }

  async #poll(): Promise<void> {
    const { store } = this.#options;
    for (const id of await store.readDue()) {
      if (this.#isStopping) return;
      if (this.#lanes.has(id)) continue;
      const endpoint = await store.claim(id);
      if (endpoint === undefined) continue;
      const lane = this.#run(endpoint).finally(() => this.#lanes.delete(id));
      this.#lanes.set(id, lane);
    }
  }

  async #run(first: OperatorEndpoint): Promise<void> {
    let endpoint: OperatorEndpoint | undefined = first;
    try {
      while (endpoint !== undefined) endpoint = await this.#takeStep(endpoint);
    } catch (error) {
      // Its lease ends, and the next look goes on.
      this.#options.logger.warn('Sending operator events failed; retrying.', {
        endpoint: first.id,
        error,
      });
    }
  }

  /** Does what is next for an endpoint that this process holds. Returns it while it does. */
  async #takeStep(endpoint: OperatorEndpoint): Promise<OperatorEndpoint | undefined> {
    const { store, logger } = this.#options;
    if (this.#isStopping || endpoint.status === 'paused') {
      await store.release(endpoint);
      return undefined;
    }
    const { event, lost, newest } = await store.readNext(endpoint);
    if (lost > 0) {
      logger.warn('Events expired before they were sent to an operator endpoint.', {
        endpoint: endpoint.id,
        count: lost,
      });
      return store.skip(endpoint, lost);
    }
    if (event === undefined) {
      await store.passOver(endpoint, newest);
      return undefined;
    }
    const result = await this.#attempt(endpoint, event, endpoint.attempts + 1);
    this.#warn(endpoint, result);
    return this.#note(() => this.#settle(endpoint, event.position, result));
  }

  async #settle(
    endpoint: OperatorEndpoint,
    position: number,
    result: AttemptResult,
  ): Promise<OperatorEndpoint | undefined> {
    const { store, clock } = this.#options;
    if (result.isSuccess) return store.settle(endpoint, { position, status: result.status });
    await store.postpone(endpoint, { result, now: clock.now(), random: randomUnit() });
    return undefined;
  }

  /** Logs the first of the failures in a row. */
  #warn({ id, url, failingSince }: OperatorEndpoint, { isSuccess, kind, cause }: AttemptResult): void {
    if (isSuccess || kind === 'aborted' || failingSince !== '') return;
    // Of the URL the host alone: its path and query may hold secrets.
    const host = URL.parse(url)?.host ?? '';
    this.#options.logger.warn('An operator endpoint started failing.', { endpoint: id, host, cause });
  }

  /** Writes a result, however long that takes: without it, the event would be sent again. */
  async #note<Noted>(write: () => Promise<Noted>): Promise<Noted> {
    for (let hasFailed = false; ; hasFailed = true)
      try {
        return await write();
      } catch (error) {
        if (this.#isStopping) throw error;
        if (!hasFailed)
          this.#options.logger.warn("A result of the operator's webhooks could not be written; retrying.", {
            error,
          });
        await delay(rewriteMs, undefined, { ref: false });
      }
  }

  /** Sends one request. Resolves with its result, whatever happens. */
  #attempt(endpoint: OperatorEndpoint, event: SentEvent, attempt: number): Promise<AttemptResult> {
    const { sender, clock } = this.#options;
    const { promise, resolve } = Promise.withResolvers<AttemptResult>();
    const id = deliveryId(event.id, endpoint.id);
    this.#open.set(id, resolve);
    sender.send([
      {
        deliveryId: id,
        endpointId: endpoint.id,
        url: endpoint.url,
        body: bodyOf(event),
        isThin: false,
        eventId: event.id,
        event: event.kind,
        collection: '',
        attempt,
        sequence: event.position,
        traceparent: '',
        tracestate: '',
        customHeaders: {},
        secrets: signingSecrets(endpoint, clock.now()),
        timeoutMs,
        version: build.version,
      },
    ]);
    return promise;
  }
}

/** The same five members as of an instance's webhooks. */
function bodyOf({ kind, instance, created, data }: SentEvent): Uint8Array {
  const event = { kind, created, collectionName: '', dataJson: JSON.stringify(data) };
  return new TextEncoder().encode(payloadOf(event, instance));
}
