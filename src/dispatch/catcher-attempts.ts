import type { Clock } from '../base/clock.ts';
import {
  abortedResult,
  type AttemptRequest,
  type AttemptResult,
  isEndpointWideStatus,
  statusCause,
} from '../sending/attempt-result.ts';
import { catcherOfUrl, type CatcherTarget, keepRequest } from '../endpoints/catchers.ts';
import { headersByName, requestHeaders } from '../sending/signature.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';

/**
 * Attempts whose endpoint's URL is that of a catcher of the same instance. They are stored instead of sent, with the same headers and
 * signature, so the guard of targets need not allow this service as a target.
 */
export class CatcherAttempts {
  readonly #clock: Clock;
  readonly #onResult: (result: AttemptResult) => void;
  readonly #underWay = new Set<Promise<void>>();

  constructor(clock: Clock, onResult: (result: AttemptResult) => void) {
    this.#clock = clock;
    this.#onResult = onResult;
  }

  /** Stores the request if it goes to a catcher of the instance; returns whether it does. */
  take(instance: WebhookInstance, request: AttemptRequest): boolean {
    const catcher = catcherOfUrl(instance.sealer, request.url);
    if (catcher === undefined) return false;
    const attempt = this.#keep(instance, catcher, request)
      .then(this.#onResult)
      .finally(() => this.#underWay.delete(attempt));
    this.#underWay.add(attempt);
    return true;
  }

  /** Resolves when the results of all attempts are reported. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #keep(
    instance: WebhookInstance,
    catcher: CatcherTarget,
    request: AttemptRequest,
  ): Promise<AttemptResult> {
    const startedAt = this.#clock.now();
    const start = this.#clock.monotonic();
    const { deliveryId, body } = request;
    const isExpired = catcher.expires <= instance.dueClock.now();
    const status = isExpired ? 404 : catcher.status;
    try {
      if (!isExpired)
        await keepRequest(instance, catcher, {
          method: 'POST',
          headers: headersByName(requestHeaders(request, Math.floor(startedAt / 1_000))),
          body,
        });
    } catch (error) {
      // The database is unavailable or full: this says nothing about the receiver, like an aborted attempt.
      instance.logger.warn('A webhook for a catcher could not be stored; retrying.', {
        instance: instance.id,
        error,
      });
      return { deliveryId, ...abortedResult(startedAt, 'The catcher could not store the request.') };
    }
    const totalMs = this.#clock.monotonic() - start;
    const isSuccess = status < 300;
    return {
      ...abortedResult(startedAt, ''),
      deliveryId,
      isSuccess,
      status,
      kind: isSuccess ? 'success' : 'status',
      isEndpointWide: isEndpointWideStatus(status),
      cause: isSuccess
        ? ''
        : isExpired
          ? 'The catcher has expired: they last for an hour.'
          : statusCause(status),
      timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: totalMs, totalMs },
    };
  }
}
