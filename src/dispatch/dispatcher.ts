import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { alwaysSafe, type SafeEnd } from '../events/log-horizon.ts';
import type { AlertMails } from '../deliveries/alert-mails.ts';
import type { DecisionPort } from '../deliveries/accounts/account-decisions.ts';
import type { PendingDelivery } from '../deliveries/deliveries.ts';
import type { Ownership } from '../deliveries/delivery.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { Claims } from './claims.ts';
import type { HandOver } from './hand-over.ts';
import { Handshakes } from './handshakes.ts';
import type { BreakerState } from '../deliveries/lane.ts';
import type { InstanceLanes, Wake } from './lanes.ts';
import { Loans, readTurns } from './loans.ts';
import type { OriginNews, ReachedOrigins } from './reached-origins.ts';
import { Scheduler } from './scheduler.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import type { Sender } from '../sending/sender.ts';
import { chooseTurns, Slots, type Turn } from './slots.ts';
import { TurnSender } from './turn-sender.ts';
import { Verifications } from './verifications.ts';
import { WebhookCounts } from './webhook-counts.ts';
import type { WebhookInstanceLoan } from '../endpoints/webhook-instance.ts';

/** Instances opened in one look. */
const openedAtOnceMax = 64;
/** The delay after the database could not be read; failing receivers have their own schedule. */
const backOffMs = 1_000;
/** The longest delay of the timer. A later due time is checked again when it ends. */
const timerMsMax = 60_000;
/** How often stalled lanes are searched. */
const sweepEveryMs = 5_000;

export interface DispatcherOptions {
  readonly sender: Pick<Sender, 'send' | 'request' | 'onResults' | 'stop' | 'handshake'>;
  /** The ids of the instances that are open. Of the others, `noteDue` says when something is due. */
  readonly instances: () => Iterable<string>;
  /** Opens an instance; undefined when there is none with this id. Throws Busy where it can only be opened later. */
  readonly borrowAtOnce: (instanceId: string) => Promise<WebhookInstanceLoan | undefined>;
  /** How many instances may be on loan at once. Each is until it has nothing in flight and nothing due. */
  readonly instancesMax?: number;
  readonly ownership: Ownership;
  /** Where one process writes the log, all of it is safe. */
  readonly safeEnd?: SafeEnd;
  /** Called for an instance with new deliveries that another node owns. */
  readonly onForeign: (instanceId: string) => void;
  /** Tells other nodes which origins cannot be reached here, and which of theirs were. */
  readonly onOrigins?: (news: OriginNews) => void;
  /** The most attempts in flight over all instances, tests not counted: bounds the sockets and memory of the sending thread. */
  readonly slotsMax?: number;
  /** Sends the mails of alerts. */
  readonly mails?: AlertMails;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
}

/**
 * The loop that delivers, in one line: scheduler (which instances are due) → lanes (whose turn it is) → dispatcher (claim, send, settle).
 * It may look too often, never too seldom: a delivery that it misses would wait until the next start.
 */
export class Dispatcher {
  readonly counts = new WebhookCounts();
  readonly verifications: Verifications;
  readonly #options: DispatcherOptions;
  readonly #loans: Loans;
  readonly #scheduler: Scheduler;
  readonly #slots: Slots;
  readonly #claims: Claims;
  readonly #handshakes: Handshakes;
  readonly #turns: TurnSender;
  /** Whether the last look found deliveries, or did not read to the end: then there may be more. */
  #hasFound = false;
  #pumping: Promise<void> | undefined;
  #isPumpScheduled = false;
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;
  #isTimerSet = false;
  #sweeps: NodeJS.Timeout | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#loans = new Loans(options.instancesMax);
    this.#scheduler = new Scheduler(options.clock);
    this.#slots = new Slots(options.slotsMax);
    this.#handshakes = new Handshakes({ ...options, onReached: (id) => this.wake(id) });
    this.verifications = new Verifications({ ...options, onVerified: (id) => this.wake(id) });
    const shared = { slots: this.#slots, counts: this.counts, origins: this.origins };
    this.#claims = new Claims({ ...options, ...shared, onSettled: (id) => this.wake(id, 'due') });
    const finish = (results: readonly AttemptResult[]): void => {
      this.#claims.finish(results);
      this.#schedulePump();
    };
    options.sender.onResults(finish);
    this.#turns = new TurnSender({
      ...options,
      claims: this.#claims,
      slots: this.#slots,
      isStopping: () => this.#isStopping,
      onResult: (result) => finish([result]),
      onMarked: (id) => this.wake(id),
    });
  }

  /** Wakes the instances that are open already. */
  start(): void {
    for (const id of this.#options.instances()) this.#scheduler.wake(id, 'all');
    this.#schedulePump();
    const sweep = (): void => {
      this.shakeHands();
      this.sweep();
    };
    this.#sweeps = setInterval(sweep, sweepEveryMs).unref();
  }

  /** Checks by handshakes, and by what succeeded meanwhile, whether unreachable receivers can be reached again. */
  shakeHands(): void {
    const owned = [...this.#loans.cachedLanes()].filter(([id]) => this.#options.ownership.owns(id));
    this.#handshakes.look(owned);
  }

  /** The origins that endpoints have reached. */
  get origins(): ReachedOrigins {
    return this.#handshakes.origins;
  }

  /** Wakes stalled lanes: there should be none, so each is logged and counted. A running look finds its own. */
  sweep(): void {
    if (this.isLooking || this.#isStopping) return;
    const now = this.#options.clock.now();
    for (const [id, lanes] of this.#loans.cachedLanes()) {
      if (!this.#options.ownership.owns(id) || this.#scheduler.isQueued(id)) continue;
      const wakesAt = this.#isTimerSet ? this.#scheduler.nextDue(id) : undefined;
      const endpoints = lanes.stalled(now, { slots: this.#slots, wakesAt });
      for (const endpoint of endpoints)
        this.#options.logger.error('A stalled lane was woken.', { instance: id, endpoint });
      this.counts.stalled += endpoints.length;
      if (endpoints.length > 0) this.wake(id);
    }
  }

  /** Wakes an instance: by default because anything of it may have changed. */
  wake(instanceId: string, wake: Wake = 'all'): void {
    if (this.#options.ownership.owns(instanceId)) this.#scheduler.wake(instanceId, wake);
    else this.#options.onForeign(instanceId);
    // One that it owns no longer is released once nothing of it is on its way.
    this.#schedulePump();
  }

  /** Notes that something of the instance is due at `due` (milliseconds since 1970): a delivery that was pending before, or a new one in the log. */
  noteDue(instanceId: string, due: number, wake: Wake = 'all'): void {
    if (!this.#options.ownership.owns(instanceId)) return;
    // The poll reports an instance that cannot be read each time: this must not end the instance's pause.
    if (this.#scheduler.isPaused(instanceId)) return;
    if (due <= this.#options.clock.now()) return this.wake(instanceId, wake);
    if (this.#scheduler.noteDue(instanceId, due)) this.#setTimerToNext();
  }

  get safeEnd(): SafeEnd {
    return this.#options.safeEnd ?? alwaysSafe;
  }

  /** Prepares handing over instances to other nodes. No new delivery of these instances may be claimed any more. */
  prepareHandOver(isGoing: (instanceId: string) => boolean): Promise<HandOver> {
    // Those that have nothing in flight are released.
    this.#schedulePump();
    return this.#claims.prepareHandOver(isGoing);
  }

  /** Returns when the next delivery of the instance is due, as far as is known here. */
  nextDue(instanceId: string): number | undefined {
    return this.#scheduler.nextDue(instanceId);
  }

  /** Whether a look is under way or about to begin. */
  get isLooking(): boolean {
    return this.#pumping !== undefined || this.#isPumpScheduled || this.#scheduler.hasWoken;
  }

  /** How many attempts are open, without tests. */
  get openAttempts(): number {
    return this.#slots.taken;
  }

  /** The instances that this process delivers for and that have pending deliveries. */
  workingInstances(): ReadonlySet<string> {
    const ids = [
      ...this.#loans.allLanes().map(({ id }) => id),
      ...this.#scheduler.dueInstances(),
      ...this.#scheduler.waiting,
    ];
    return new Set(ids.filter((id) => this.#options.ownership.owns(id)));
  }

  /** How many lanes of endpoints that this process delivers to are in each state. */
  countLanes(): Readonly<Record<BreakerState, number>> {
    const counts = { closed: 0, open: 0, probing: 0, slow: 0, blocked: 0 };
    for (const [id, lanes] of this.#loans.cachedLanes())
      if (this.#options.ownership.owns(id)) for (const { lane } of lanes.all()) counts[lane.state] += 1;
    return counts;
  }

  /**
   * Sends one delivery now, outside its lane, and resolves with the result once that is committed. Rejects when the first try to
   * commit fails: the retries last for as long as the database is unavailable, which is longer than a caller should wait.
   */
  sendNow(loan: WebhookInstanceLoan, endpoint: Endpoint, pending: PendingDelivery): Promise<AttemptResult> {
    const lanes = this.#loans.add(loan);
    lanes.noteUse(1);
    return this.#turns.sendTest(lanes, endpoint, pending);
  }

  /**
   * Stops claiming at once; attempts in flight have `graceMs` to end. Their results are committed before this resolves, unless
   * commits still fail when the grace is over.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#sweeps);
    this.#claims.giveUpAt(this.#options.clock.monotonic() + graceMs);
    await this.#pumping;
    // Only now, as the last look may have set the timer.
    clearTimeout(this.#timer);
    await this.#turns.prepared();
    await Promise.all(this.#loans.allLanes().map((lanes) => lanes.decided()));
    await this.#options.sender.stop(graceMs);
    await Promise.all([this.#turns.caught(), this.verifications.settled()]);
    await this.#claims.settled();
    this.#loans.releaseAll();
  }

  #schedulePump(): void {
    if (this.#isPumpScheduled || this.#isStopping) return;
    this.#isPumpScheduled = true;
    setImmediate(() => {
      this.#isPumpScheduled = false;
      if (this.#pumping !== undefined || this.#isStopping) return;
      this.#pumping = this.#pump()
        .then(() => {
          if (this.#hasMore()) this.#schedulePump();
        })
        .catch((error: unknown) => {
          const message = 'Claiming deliveries failed; retrying.';
          this.#options.logger.error(message, { error, delayMs: backOffMs });
          this.#setTimer(backOffMs);
        })
        .finally(() => {
          this.#pumping = undefined;
        });
    });
  }

  #hasMore(): boolean {
    // Deliveries without a slot are looked at again when one is free.
    return this.#scheduler.hasWoken || this.#hasFound;
  }

  async #pump(): Promise<void> {
    await this.#openWoken();
    // One time for the whole look: a delivery that becomes due between two readings would be in neither.
    const now = this.#options.clock.now();
    const { ownership } = this.#options;
    for (const lanes of this.#loans.allLanes()) {
      const { id } = lanes;
      const decisions = this.#decisionPort(id);
      const look = { now, epoch: ownership.epochOf(id), decisions };
      if (ownership.owns(id)) await this.#orPause(lanes, () => lanes.refill(look));
      else lanes.pause();
    }
    // Its next delivery may lie behind the safe position.
    if (this.#loans.allLanes().some(({ hasStrict }) => hasStrict)) this.safeEnd.hurry();
    const candidates = this.#loans.allLanes().map((lanes) => lanes.candidate(now));
    const turns = chooseTurns([...candidates], this.#slots);
    this.#hasFound = turns.length > 0 || this.#loans.allLanes().some((lanes) => lanes.hasUnread(now));
    if (turns.length > 0) {
      this.safeEnd.refresh();
      await this.#claim(turns, now);
    }
    this.#releaseIdle(now);
  }

  #decisionPort(id: string): DecisionPort {
    const { ownership, mails } = this.#options;
    const isOver = (): boolean => this.#isStopping || !ownership.owns(id);
    return { safeEnd: this.safeEnd, mails, isOver, onStep: () => this.wake(id, 'due') };
  }

  /** Runs a step on an instance. One whose file cannot be read must not delay the others: it is paused until it is woken. */
  async #orPause<Result>(lanes: InstanceLanes, step: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await step();
    } catch (error) {
      const instance = lanes.id;
      const message = 'Reading due deliveries failed; retrying.';
      this.#options.logger.error(message, { instance, error, delayMs: backOffMs });
      lanes.pause();
      this.#scheduler.pause(instance, backOffMs);
      return undefined;
    }
  }

  async #openWoken(): Promise<void> {
    let opened = 0;
    for (const [id, wake] of this.#scheduler.takeWoken()) {
      let lanes = this.#loans.lanesOf(id);
      if (lanes === undefined && opened === openedAtOnceMax) {
        this.#scheduler.wake(id, wake);
        continue;
      }
      this.#scheduler.clearDue(id);
      if (lanes === undefined && !this.#loans.hasRoom(id, this.#options.clock.now())) {
        this.#scheduler.wait(id, wake);
        continue;
      }
      if (lanes === undefined) {
        opened += 1;
        lanes = await this.#loans.open([id, wake], this.#scheduler, this.#options);
      }
      lanes?.note(wake);
    }
  }

  async #claim(turns: readonly Turn[], now: number): Promise<void> {
    const laneTurns = turns.flatMap((turn) => {
      const lanes = this.#loans.lanesOf(turn.instanceId);
      return lanes === undefined ? [] : [{ lanes, turn }];
    });
    // Rows are read only now: a delivery may have been settled or cancelled since its id was read, and bodies are large.
    const pendings = await readTurns({ laneTurns, now }, (lanes, read) => this.#orPause(lanes, read));
    this.#turns.send(laneTurns, pendings, now);
  }

  /** Releases instances that are idle, and notes when each has a delivery due next. */
  #releaseIdle(now: number): void {
    for (const lanes of this.#loans.allLanes()) {
      const { id } = lanes;
      const due = lanes.endLook(now);
      if (due !== undefined) this.#scheduler.setDue(id, due);
      if (!lanes.isBusy(now) && !this.#scheduler.isWoken(id)) this.#loans.release(id);
    }
    this.#scheduler.wakeWaiting((id) => this.#loans.hasRoom(id, now));
    this.#setTimerToNext();
  }

  #setTimerToNext(): void {
    const delayMs = this.#scheduler.delayMs();
    if (delayMs !== undefined) this.#setTimer(delayMs);
  }

  #setTimer(delayMs: number): void {
    clearTimeout(this.#timer);
    // A late wake-up must not bring back the timer that a stop has cleared.
    if (this.#isStopping) return;
    const wake = (): void => {
      this.#isTimerSet = false;
      this.#schedulePump();
    };
    this.#timer = setTimeout(wake, Math.min(Math.max(delayMs, 0), timerMsMax));
    this.#isTimerSet = true;
  }
}
