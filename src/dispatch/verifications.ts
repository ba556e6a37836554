import type { Clock } from '../base/clock.ts';
import { AppError, tooManyRequests } from '../base/errors.ts';
import { newTimeOrderedId } from '../base/ids.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { deliveryId, toAttemptRequest } from '../deliveries/deliveries.ts';
import {
  beginChallenge,
  type ChallengeOutcome,
  endChallenge,
  saveOutcome,
} from '../deliveries/endpoints/begin-challenge.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { readEndpoint } from '../endpoints/endpoint-store.ts';
import { mustVerify } from '../endpoints/must-verify.ts';
import type { WebhookInstance, WebhookInstanceLoan } from '../endpoints/webhook-instance.ts';
import { payloadOf } from '../events/event.ts';
import { SharedCounter } from '../limits/shared-counter.ts';
import { countTry } from '../limits/sign-in-guard.ts';
import type { AttemptRequest, AttemptResult } from '../sending/attempt-result.ts';
import { challengeKind, grantedConsent, isChallengeAnswered, newChallenge } from '../sending/challenge.ts';
import type { Sender } from '../sending/sender.ts';

/**
 * How many challenges there may be, of two requests at most each: accounts choose whom they go to. An account has a small share of what its
 * instance has. docs/limits.md repeats these numbers.
 */
export const challengeLimits = {
  timeoutMsMax: 10_000,
  windowMs: 3_600_000,
  instanceMax: 600,
  accountMax: 30,
  endpointMax: 15,
  /** Of one instance, in this process. */
  openMax: 8,
} as const;

export interface VerificationsOptions {
  readonly sender: Pick<Sender, 'request'>;
  readonly clock: Clock;
  readonly version: string;
  /** Called when an endpoint may be sent what waits for it. */
  readonly onVerified: (instanceId: string) => void;
}

/** Asks the receivers of endpoints of accounts whether they want webhooks, by a challenge that only they get. */
export class Verifications {
  readonly #options: VerificationsOptions;
  readonly #ofInstances = new SharedCounter({ kind: 'challenges of an instance' });
  readonly #ofAccounts = new SharedCounter({ kind: 'challenges of an account' });
  readonly #ofEndpoints = new SharedCounter({ kind: 'challenges of an endpoint' });
  readonly #open = new Map<string, number>();
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: VerificationsOptions) {
    this.#options = options;
  }

  /**
   * Challenges the receiver of an endpoint and returns the endpoint after that; nothing is sent where no confirmation is needed. Throws
   * not_found, too_many_requests, and conflict while it is being challenged.
   */
  async verify(instance: WebhookInstance, id: string): Promise<Endpoint> {
    const endpoint = await readEndpoint(instance, id);
    if (!mustVerify(instance, endpoint)) return this.#activate(instance, endpoint);
    await this.#askReserved(instance, endpoint);
    const after = await readEndpoint(instance, id);
    // Whoever has changed the URL meanwhile has found the endpoint reserved.
    return after.url === endpoint.url ? after : this.verify(instance, id);
  }

  async #askReserved(instance: WebhookInstance, endpoint: Endpoint): Promise<void> {
    this.#take(instance.id);
    try {
      if (!(await beginChallenge(instance, endpoint)))
        throw new AppError('conflict', 'Its receiver is being asked at this moment.');
      try {
        await this.#ask(instance, endpoint);
      } catch (error) {
        await endChallenge(instance, endpoint);
        throw error;
      }
    } finally {
      this.#release(instance.id);
    }
  }

  /**
   * Challenges the receivers of endpoints that were just made or changed, one after the other, without anybody waiting for it. What fails or is over a limit
   * stays unverified, with the reason.
   */
  begin(loan: Promise<WebhookInstanceLoan>, ids: readonly string[]): void {
    const running = this.#verifyAll(loan, ids).finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
  }

  /** Resolves when nobody is being asked any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #verifyAll(borrowed: Promise<WebhookInstanceLoan>, ids: readonly string[]): Promise<void> {
    const loan = await borrowed.catch(() => undefined);
    if (loan === undefined) return;
    const { instance } = loan;
    for (const id of ids) {
      try {
        await this.verify(instance, id);
      } catch (error) {
        const about = { instance: instance.id, endpoint: id, error };
        if (!(error instanceof AppError))
          instance.logger.warn('The receiver of an endpoint could not be verified.', about);
      }
    }
    loan.release();
  }

  /** One that waits although nobody has to confirm anything any more, as the setting is off by now. */
  async #activate(instance: WebhookInstance, endpoint: Endpoint): Promise<Endpoint> {
    if (endpoint.status !== 'unverified') return endpoint;
    const active = await saveOutcome(instance, endpoint, { kind: 'unneeded' });
    this.#options.onVerified(instance.id);
    return active;
  }

  async #ask(instance: WebhookInstance, endpoint: Endpoint): Promise<void> {
    await this.#count(instance, endpoint);
    const saved = await saveOutcome(instance, endpoint, await this.#challenge(instance, endpoint));
    if (saved.status === 'active') this.#options.onVerified(instance.id);
  }

  async #count(instance: WebhookInstance, { id, owner }: Endpoint): Promise<void> {
    const { windowMs: durationMs, instanceMax, accountMax, endpointMax } = challengeLimits;
    const counted = await countTry(instance, [
      { counter: this.#ofInstances, key: '', limit: { max: instanceMax, durationMs } },
      { counter: this.#ofAccounts, key: owner, limit: { max: accountMax, durationMs } },
      { counter: this.#ofEndpoints, key: id, limit: { max: endpointMax, durationMs } },
    ]);
    if (counted.kind === 'full') throw tooManyRequests(counted.resetSeconds);
  }

  /** Sends the challenge, and where that is not answered, asks as CloudEvents do. Both together have the time of one. */
  async #challenge(instance: WebhookInstance, endpoint: Endpoint): Promise<ChallengeOutcome> {
    const { sender, clock } = this.#options;
    const challenge = newChallenge();
    const request = this.#requestOf(instance, endpoint, challenge);
    const endsAt = clock.monotonic() + request.timeoutMs;
    const result = await sender.request(request);
    if (isChallengeAnswered(result, challenge)) return { kind: 'confirmed', rateLimit: 0 };
    const timeoutMs = Math.floor(endsAt - clock.monotonic());
    // One that gives no answer at all would give none to that either.
    if (result.status === null || timeoutMs <= 0) return failed(result);
    const consent = { origin: originOf(instance) };
    const granted = grantedConsent(await sender.request({ ...request, consent, timeoutMs }), consent);
    if (granted === undefined) return failed(result);
    const { perMinute = 0 } = granted;
    return { kind: 'confirmed', rateLimit: perMinute === 0 ? 0 : Math.max(1, Math.floor(perMinute / 60)) };
  }

  #requestOf(instance: WebhookInstance, endpoint: Endpoint, challenge: string): AttemptRequest {
    const { clock, version } = this.#options;
    const { signingKeys } = instance.endpoints;
    const created = toTimestamp(clock.now());
    const eventId = newTimeOrderedId(clock.now());
    const about = { kind: challengeKind, collectionName: '', created };
    const dataJson = JSON.stringify({ challenge });
    const body = Buffer.from(payloadOf({ ...about, dataJson }, instance.shownId));
    const content = {
      ...about,
      eventId,
      deliveryId: deliveryId(eventId, endpoint.id),
      record: '',
      revision: 0,
    };
    const request = toAttemptRequest(
      { ...content, body, isThin: false, attempt: 1, traceparent: '', tracestate: '', context: undefined },
      { endpoint, signingKeys, instance, nowMs: clock.now(), version },
    );
    // Whatever members of records the endpoint gets.
    return { ...request, body, timeoutMs: Math.min(endpoint.timeoutMs, challengeLimits.timeoutMsMax) };
  }

  #take(instanceId: string): void {
    const open = this.#open.get(instanceId) ?? 0;
    if (open >= challengeLimits.openMax) throw tooManyRequests(1);
    this.#open.set(instanceId, open + 1);
  }

  #release(instanceId: string): void {
    const open = (this.#open.get(instanceId) ?? 1) - 1;
    if (open === 0) this.#open.delete(instanceId);
    else this.#open.set(instanceId, open);
  }
}

function failed({ isSuccess, cause }: AttemptResult): ChallengeOutcome {
  return {
    kind: 'failed',
    reason: isSuccess ? 'The answer to the challenge does not confirm it.' : cause,
  };
}

/** The name by which the service asks for consent: the host of the URL of the application. */
function originOf({ settings }: WebhookInstance): string {
  return URL.parse(settings.current.meta.appURL)?.hostname ?? 'localhost';
}
