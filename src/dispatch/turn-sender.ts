import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { type PastDelivery, PastDeliveries } from '../deliveries/accounts/past-deliveries.ts';
import { attemptContent, type PendingDelivery, toAttemptRequest } from '../deliveries/deliveries.ts';
import type { Ownership } from '../deliveries/delivery.ts';
import { isSentAgain } from '../deliveries/log/past-events.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';
import type { AttemptRequest, AttemptResult } from '../sending/attempt-result.ts';
import { toBatchRequest } from '../sending/batch-request.ts';
import type { Sender } from '../sending/sender.ts';
import { Batches } from './batches.ts';
import { CatcherAttempts } from './catcher-attempts.ts';
import type { Claim } from './claim.ts';
import type { Claims } from './claims.ts';
import type { LaneTurn } from './loans.ts';
import type { InstanceLanes } from './lanes.ts';
import type { Slots, Turn } from './slots.ts';

export interface TurnSenderOptions {
  readonly sender: Pick<Sender, 'send'>;
  readonly claims: Claims;
  readonly slots: Slots;
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  readonly isStopping: () => boolean;
  /** Called with the results of attempts that catchers have stored. */
  readonly onResult: (result: AttemptResult) => void;
  /** Called when an endpoint is to be reconciled, as a state was withheld from it. */
  readonly onMarked: (instanceId: string) => void;
}

/** Claims the deliveries whose turn it is, and gives their requests to the sender, or to catchers. */
export class TurnSender {
  readonly #options: TurnSenderOptions;
  readonly #catcherAttempts: CatcherAttempts;
  readonly #past: PastDeliveries;
  readonly #batches: Batches;

  constructor(options: TurnSenderOptions) {
    this.#options = options;
    this.#past = new PastDeliveries(options.onMarked);
    this.#catcherAttempts = new CatcherAttempts(options.clock, options.onResult);
    this.#batches = new Batches({
      ...options,
      past: this.#past,
      requestOf: ({ lanes, endpoint }, pending) => this.#requestOf(lanes.instance, endpoint, pending),
      send: ({ lanes }, request) => this.#sendOne(lanes.instance, request),
    });
  }

  /** Sends the deliveries of these turns, of which `pendings` has the rows. */
  send(
    laneTurns: readonly LaneTurn[],
    pendings: ReadonlyMap<Turn, readonly PendingDelivery[]>,
    now: number,
  ): void {
    const requests = laneTurns.map((one) => {
      const its = pendings.get(one.turn) ?? [];
      return one.turn.batch === undefined ? this.#claim(one, its[0], now) : this.#claimBatch(one, its, now);
    });
    const alone = requests.filter((request) => request !== undefined);
    if (alone.length > 0) this.#options.sender.send(alone);
  }

  /** Sends a test, which has no turn. */
  sendTest(lanes: InstanceLanes, endpoint: Endpoint, pending: PendingDelivery): Promise<AttemptResult> {
    const test = Promise.withResolvers<AttemptResult>();
    this.#options.claims.add({ id: pending.id, lanes, endpoint, pendings: [pending], test });
    const request = this.#requestOf(lanes.instance, endpoint, pending);
    // A batch of one, under the id of its event: it is never sent again.
    const isBatch = endpoint.batch !== null;
    this.#sendOne(lanes.instance, isBatch ? toBatchRequest(request, [request]) : request);
    return test.promise;
  }

  /** Resolves when nothing is claimed any more that was not given to the sender. */
  async prepared(): Promise<void> {
    await this.#past.settled();
    await this.#batches.settled();
  }

  /** Resolves when catchers have stored their requests. */
  caught(): Promise<void> {
    return this.#catcherAttempts.settled();
  }

  #claim(
    { lanes, turn }: LaneTurn,
    pending: PendingDelivery | undefined,
    now: number,
  ): AttemptRequest | undefined {
    const { claims, slots, ownership, clock } = this.#options;
    // Checked again: the instance may have been handed over to another node during the read.
    const endpoint = ownership.owns(lanes.id) ? lanes.claim(turn, pending, now) : undefined;
    if (endpoint === undefined || pending === undefined) {
      slots.release(turn);
      return undefined;
    }
    claims.add({ id: pending.id, lanes, endpoint, pendings: [pending], slot: turn });
    if (pending.disposition !== 'send') {
      claims.settleWithoutAttempt(pending, pending.disposition);
      return undefined;
    }
    if (isSentAgain(endpoint, pending, clock.now())) {
      const past = { instance: lanes.instance, endpoint, pending };
      this.#past.check(past, (answer) => this.#sendPast(past, answer));
      return undefined;
    }
    const request = this.#requestOf(lanes.instance, endpoint, pending);
    return this.#catcherAttempts.take(lanes.instance, request) ? undefined : request;
  }

  /** Claims a batch, which is stored before it is sent. */
  #claimBatch({ lanes, turn }: LaneTurn, pendings: readonly PendingDelivery[], now: number): undefined {
    const { claims, slots, ownership } = this.#options;
    const attempt = newId();
    const claimed = ownership.owns(lanes.id) ? lanes.claimBatch(turn, { pendings, attempt, now }) : undefined;
    if (claimed === undefined || claimed.members.length === 0) slots.release(turn);
    if (claimed === undefined) return;
    const { endpoint, members, unsent, batch } = claimed;
    for (const pending of unsent) {
      if (pending.disposition === 'send') continue;
      claims.add({ id: pending.id, lanes, endpoint, pendings: [pending] });
      claims.settleWithoutAttempt(pending, pending.disposition);
    }
    if (members.length === 0) return;
    const claim: Claim = { id: attempt, lanes, endpoint, pendings: members, slot: turn };
    claims.add(claim);
    this.#batches.send(claim, batch);
  }

  /** Sends the parts of an event that an account may still view. */
  #sendPast({ instance, endpoint }: PastDelivery, answer: PendingDelivery): void {
    const { claims, isStopping } = this.#options;
    // It stays pending.
    if (isStopping()) return;
    if (answer.disposition !== 'send') claims.settleWithoutAttempt(answer, answer.disposition);
    else this.#sendOne(instance, this.#requestOf(instance, endpoint, answer));
  }

  #sendOne(instance: WebhookInstance, request: AttemptRequest): void {
    if (!this.#catcherAttempts.take(instance, request)) this.#options.sender.send([request]);
  }

  #requestOf(instance: WebhookInstance, endpoint: Endpoint, pending: PendingDelivery): AttemptRequest {
    const { clock, version } = this.#options;
    const { signingKeys } = instance.endpoints;
    const target = { endpoint, signingKeys, instance, nowMs: clock.now(), version };
    return toAttemptRequest(attemptContent(pending), target);
  }
}
