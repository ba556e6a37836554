import { jittered } from './delivery.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import { Reach } from './reach.ts';

/**
 * How much one endpoint is sent at once, and when. A breaker (M. Nygard, Release It!, 2007) keeps the backlog of a failing endpoint
 * from using up slots and attempts: while it is open, one delivery is sent from time to time to see whether the receiver has recovered.
 *
 *             in a row: 5 failures of the whole endpoint, 2 time-outs without a recent success, or 10 failures of any kind of 3 or
 *             more deliveries · in a minute: half of 20 or more attempts, as failures of the whole endpoint
 *   closed ──────────────────────────────────────────────────────────────────────────────────────► open ◄─────────────┐
 *     ▲                                                                                              │ probe is due     │ it failed:
 *     │                                                                                              ▼                  │ twice the delay
 *     └── the window has reached 4 ── slow (window 1, 2, 3) ◄── it succeeded ── probing (1 in flight) ──────────────────┘
 *
 * An answer with `Retry-After` holds the lane, whatever its state. After five days without a success the endpoint is disabled; the time
 * during which the operator's proxy fails is not counted.
 *
 * The time is an argument of every method, in milliseconds since 1970. What must survive the process is {@link LaneMemory}.
 */
export class Lane {
  #state: BreakerState = 'closed';
  #stored: LaneMemory = closedLane;
  #window: number;
  /** When each open attempt was begun, the oldest first. */
  readonly #open = new Map<string, number>();
  #probe: string | undefined;
  #succeededAt = Number.NEGATIVE_INFINITY;
  readonly #latencies: number[] = [];
  readonly #inRow: FailuresInRow = { any: 0, wide: 0, timeouts: 0, deliveries: new Set() };
  readonly #recent: Tally[] = [];
  #reach = new Reach();

  constructor(maxInFlight: number) {
    this.#window = Math.min(windowAtStart, maxInFlight);
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** What is to be stored. Another object after every change. */
  get stored(): LaneMemory {
    return this.#stored;
  }

  get inFlight(): number {
    return this.#open.size;
  }

  /** Whether the last attempt failed. */
  get hasFailed(): boolean {
    return this.#inRow.any > 0;
  }

  /** Restores the stored state of the lane, or a closed one; open attempts stay open. */
  restore(stored: LaneMemory = closedLane): void {
    this.#stored = stored;
    this.#state = stored.state;
    this.#probe = undefined;
    this.#forgetFailures();
    if (stored.state === 'slow') this.#window = 1;
    if (stored.state === 'closed') this.#reach = new Reach();
  }

  /** Sends nothing until the endpoint is resumed. */
  block(cause: string): void {
    this.#state = 'blocked';
    this.#stored = { ...closedLane, state: 'blocked', cause };
  }

  /** How many more attempts may be open. */
  roomAt(now: number, maxInFlight: number): number {
    if (this.#state === 'blocked') return 0;
    if (now < this.#stored.heldUntil || this.#state === 'probing') return 0;
    // One that was made due by hand waits for attempts that are still open.
    const { probeAt } = this.#stored;
    if (this.#state === 'open') return now >= probeAt && (probeAt > 0 || this.#open.size === 0) ? 1 : 0;
    return Math.max(0, Math.min(this.#window, maxInFlight) - this.#open.size);
  }

  /** Returns when a lane that sends nothing now will; undefined when it waits for no time. */
  opensAt(now: number): number | undefined {
    const { heldUntil, probeAt } = this.#stored;
    const at = this.#state === 'open' ? Math.max(heldUntil, probeAt) : heldUntil;
    return at > now ? at : undefined;
  }

  /** Returns whether a handshake with the receiver is due, and counts it as begun: the caller makes it. */
  beginHandshake(now: number): boolean {
    const { heldUntil, probeAt } = this.#stored;
    return this.#state === 'open' && now >= heldUntil && now < probeAt && this.#reach.beginHandshake(now);
  }

  /** Notes how a handshake has ended. Returns whether it makes a probe due. */
  noteHandshake(isReached: boolean, now: number): boolean {
    if (this.#state !== 'open' || !this.#reach.note(isReached, now)) return false;
    this.#stored = { ...this.#stored, probeAt: Math.min(now, this.#stored.probeAt) };
    return true;
  }

  /** Whether it waits until its receiver can be reached again. */
  get isUnreachable(): boolean {
    return this.#state === 'open' && this.#reach.mayBeUnreachable;
  }

  /** Whether the endpoint accepted a webhook lately, and answers open attempts in its usual time. */
  isProven(now: number): boolean {
    if (this.hasFailed || now - this.#succeededAt > provenMs) return false;
    const [oldest = now] = this.#open.values();
    const silentMs = now - oldest;
    return silentMs <= silentMsMin || silentMs <= silentFactor * this.#usualLatency();
  }

  send(delivery: string, now: number): void {
    this.#open.set(delivery, now);
    if (this.#state !== 'open') return;
    this.#state = 'probing';
    this.#probe = delivery;
  }

  /** Ends an open attempt. Returns what it means for the endpoint beyond the lane's pace. */
  end(delivery: string, result: EndedAttempt, context: LaneContext): LaneChange | undefined {
    const beganAt = this.#open.get(delivery);
    this.#open.delete(delivery);
    const isProbe = this.#state === 'probing' && this.#probe === delivery;
    if (isProbe) {
      this.#state = 'open';
      this.#probe = undefined;
    }
    // An aborted attempt says nothing about the receiver; a probe is repeated.
    if (result.kind === 'aborted' || this.#state === 'blocked') return undefined;
    const { now } = context;
    this.#tally(now, result.isEndpointWide && !result.isSuccess);
    if (result.isSuccess) return this.#succeed(now, beganAt, context);
    this.#fail(delivery, result);
    this.#hold(result, now);
    if (isProbe) {
      this.#openAgain(result, context);
      return now - this.#stored.since >= disabledAfterMs ? 'disabled' : undefined;
    }
    if (result.isEndpointWide) this.#window = Math.max(1, Math.floor(this.#window / 2));
    if (this.#state === 'open' || this.#state === 'probing') return undefined;
    if (this.#state === 'slow') {
      if (result.isEndpointWide || this.#hasBroken(now)) this.#openAgain(result, context);
      return undefined;
    }
    if (!this.#hasBroken(now)) return undefined;
    this.#reach.begin(now);
    this.#openFor(result, { ...context, since: now, probeDelayMs: probeDelayMsMin });
    return 'opened';
  }

  #succeed(now: number, beganAt: number | undefined, { maxInFlight }: LaneContext): LaneChange | undefined {
    this.#forgetFailures();
    this.#succeededAt = now;
    this.#latencies.push(now - (beganAt ?? now));
    if (this.#latencies.length > latenciesMax) this.#latencies.shift();
    const wasOpen = this.#state === 'open' || this.#state === 'probing';
    this.#window = wasOpen ? 1 : Math.min(maxInFlight, this.#window + 1);
    if (this.#state === 'closed') {
      if (this.#stored.heldUntil <= now) this.#stored = closedLane;
      return undefined;
    }
    this.#probe = undefined;
    const isClosed = this.#window >= Math.min(windowAtStart, maxInFlight);
    this.#state = isClosed ? 'closed' : 'slow';
    if (wasOpen) this.#reach = new Reach();
    if (isClosed) this.#stored = closedLane;
    else if (wasOpen) this.#stored = { ...this.#stored, state: 'slow', heldUntil: 0 };
    return wasOpen ? 'recovered' : undefined;
  }

  #fail(delivery: string, { isEndpointWide, kind }: EndedAttempt): void {
    this.#reach.noteFailure(kind);
    const inRow = this.#inRow;
    inRow.any += 1;
    inRow.wide = isEndpointWide ? inRow.wide + 1 : 0;
    inRow.timeouts = kind === 'timeout' ? inRow.timeouts + 1 : 0;
    if (inRow.deliveries.size < distinctMin) inRow.deliveries.add(delivery);
  }

  #hold({ retryAfterSeconds, cause }: EndedAttempt, now: number): void {
    if (retryAfterSeconds === null) return;
    const heldUntil = now + retryAfterSeconds * 1_000;
    if (heldUntil > this.#stored.heldUntil) this.#stored = { ...this.#stored, heldUntil, cause };
  }

  #openAgain(result: EndedAttempt, context: LaneContext): void {
    const { probeDelayMs } = this.#stored;
    // A proxy of the operator says nothing about the receiver, which must be neither reported nor disabled for it.
    const since = result.kind === 'proxy' ? context.now : this.#stored.since;
    const delayMs = Math.min(probeDelayMsMax, probeDelayMs * 2);
    this.#openFor(result, { ...context, since, probeDelayMs: delayMs });
  }

  #openFor({ cause }: EndedAttempt, { now, random, since, probeDelayMs }: LaneContext & ProbePlan): void {
    const probeAt = Math.ceil(now + jittered(probeDelayMs, random));
    this.#state = 'open';
    this.#stored = { ...this.#stored, state: 'open', since, probeAt, probeDelayMs, cause };
  }

  #hasBroken(now: number): boolean {
    const { any, wide, timeouts, deliveries } = this.#inRow;
    if (wide >= wideInRowMax || (timeouts >= timeoutsInRowMax && now - this.#succeededAt > provenMs))
      return true;
    if (any >= anyInRowMax && deliveries.size >= distinctMin) return true;
    const recent = this.#recent.filter(({ from }) => now - from < recentMs);
    const ended = recent.reduce((sum, one) => sum + one.ended, 0);
    const failed = recent.reduce((sum, one) => sum + one.failed, 0);
    return ended >= recentMin && failed * 2 >= ended;
  }

  #tally(now: number, hasFailed: boolean): void {
    let last = this.#recent.at(-1);
    if (last === undefined || now - last.from >= tallyMs) {
      while (this.#recent[0] !== undefined && now - this.#recent[0].from >= recentMs) this.#recent.shift();
      this.#recent.push((last = { from: now, ended: 0, failed: 0 }));
    }
    last.ended += 1;
    if (hasFailed) last.failed += 1;
  }

  /** Also the recent counts: an endpoint that recovered is not judged by earlier failures. */
  #forgetFailures(): void {
    Object.assign(this.#inRow, { any: 0, wide: 0, timeouts: 0 });
    this.#inRow.deliveries.clear();
    if (this.#state !== 'closed') this.#recent.length = 0;
  }

  /** The 90th percentile of the last successes. */
  #usualLatency(): number {
    return this.#latencies.toSorted((a, b) => a - b)[Math.floor(this.#latencies.length * 0.9)] ?? 0;
  }
}

/** `blocked`: a delivery of a strict order is exhausted. */
export type BreakerState = 'closed' | 'open' | 'probing' | 'slow' | 'blocked';

/** The state of a lane that must survive idleness, a restart and a move to another node. */
export interface LaneMemory {
  readonly state: Exclude<BreakerState, 'probing'>;
  /** When the first of the failures began that it has not recovered from. */
  readonly since: number;
  /** When the next probe is due, and the delay before it without its jitter. */
  readonly probeAt: number;
  readonly probeDelayMs: number;
  /** Until when the receiver asked for a pause by Retry-After; 0 if it did not. */
  readonly heldUntil: number;
  /** Why the last attempt failed, in words. */
  readonly cause: string;
}

export const closedLane: LaneMemory = {
  state: 'closed',
  since: 0,
  probeAt: 0,
  probeDelayMs: 0,
  heldUntil: 0,
  cause: '',
};

/** `opened`: the breaker has opened · `recovered`: the receiver answers again · `disabled`: it was down for too long. */
export type LaneChange = 'opened' | 'recovered' | 'disabled';

type EndedAttempt = Pick<
  AttemptResult,
  'isSuccess' | 'isEndpointWide' | 'kind' | 'retryAfterSeconds' | 'cause'
>;

interface LaneContext {
  readonly now: number;
  readonly maxInFlight: number;
  /** In [0, 1). */
  readonly random: number;
}

interface ProbePlan {
  readonly since: number;
  readonly probeDelayMs: number;
}

interface FailuresInRow {
  any: number;
  wide: number;
  timeouts: number;
  /** Some of the deliveries that failed. */
  readonly deliveries: Set<string>;
}

interface Tally {
  readonly from: number;
  ended: number;
  failed: number;
}

const windowAtStart = 4;

/** How long a success proves an endpoint, and how long one attempt may be silent until it no longer does. */
const provenMs = 60_000;
const silentMsMin = 2_000;
const silentFactor = 4;
const latenciesMax = 32;

const wideInRowMax = 5;
const timeoutsInRowMax = 2;
const anyInRowMax = 10;
const distinctMin = 3;
const recentMs = 60_000;
const recentMin = 20;
const tallyMs = 10_000;

const probeDelayMsMin = 5_000;
const probeDelayMsMax = 600_000;
const disabledAfterMs = 5 * 86_400_000;
