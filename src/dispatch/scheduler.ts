import type { Clock } from '../base/clock.ts';
import type { Wake } from './lanes.ts';

/** Decides which instances the dispatcher looks at, and when: woken ones at once, others when a delivery of theirs is due. */
export class Scheduler {
  readonly #clock: Clock;
  /** Each with the reason. */
  readonly #woken = new Map<string, Wake>();
  /** Woken instances that wait for the release of others. */
  readonly #waiting = new Map<string, Wake>();
  /** Reasons to add when they are woken next. */
  readonly #later = new Map<string, Wake>();
  /** When an instance's next delivery is due, in milliseconds since 1970. */
  readonly #nextDue = new Map<string, number>();
  /** At or before the first of these times: before that, looks need not go through all of them. There may be thousands. */
  #firstDue = Number.POSITIVE_INFINITY;
  /** Until when an instance that could not be read is paused, by the monotonic clock. */
  readonly #pausedUntilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get hasWoken(): boolean {
    return this.#woken.size > 0;
  }

  isWoken(instanceId: string): boolean {
    return this.#woken.has(instanceId);
  }

  /** Whether the instance is looked at as soon as it can be. */
  isQueued(instanceId: string): boolean {
    return this.#woken.has(instanceId) || this.#waiting.has(instanceId);
  }

  wake(instanceId: string, wake: Wake): void {
    raise(this.#woken, instanceId, wake);
  }

  /** Queues an instance for which there is no room. It keeps its place in the queue when it is woken meanwhile. */
  wait(instanceId: string, wake: Wake): void {
    raise(this.#waiting, instanceId, wake);
  }

  get waiting(): Iterable<string> {
    return this.#waiting.keys();
  }

  /** Wakes the queued instances for which there is room, the first first. */
  wakeWaiting(hasRoom: (instanceId: string) => boolean): void {
    for (const [id, wake] of this.#waiting) {
      if (!hasRoom(id)) continue;
      this.#waiting.delete(id);
      this.wake(id, wake);
    }
  }

  /** Removes and returns the instances to look at now, each with the reason. A caller that skips one must wake it again. */
  takeWoken(): ReadonlyMap<string, Wake> {
    const now = this.#clock.now();
    if (now >= this.#firstDue) for (const [id, due] of this.#nextDue) if (due <= now) this.wake(id, 'due');
    const woken = new Map(this.#woken);
    this.#woken.clear();
    for (const id of woken.keys()) {
      const later = this.#later.get(id);
      this.#later.delete(id);
      if (later !== undefined) raise(woken, id, later);
    }
    return woken;
  }

  nextDue(instanceId: string): number | undefined {
    return this.#nextDue.get(instanceId);
  }

  /** The instances with a due time. */
  dueInstances(): Iterable<string> {
    return this.#nextDue.keys();
  }

  setDue(instanceId: string, due: number): void {
    this.#nextDue.set(instanceId, due);
    this.#firstDue = Math.min(this.#firstDue, due);
  }

  /** Returns whether `due` is earlier than the due time so far, and sets it then: its lane may not have read the delivery. */
  noteDue(instanceId: string, due: number): boolean {
    if (due >= (this.#nextDue.get(instanceId) ?? Number.POSITIVE_INFINITY)) return false;
    this.postpone(instanceId, due, 'all');
    return true;
  }

  /** Wakes an instance at a time, in milliseconds since 1970, for a reason that could not be served before. */
  postpone(instanceId: string, due: number, wake: Wake): void {
    this.setDue(instanceId, due);
    raise(this.#later, instanceId, wake);
  }

  clearDue(instanceId: string): void {
    this.#nextDue.delete(instanceId);
  }

  /** Milliseconds until the first instance is due; undefined when none will be. */
  delayMs(): number | undefined {
    const now = this.#clock.now();
    // It may be that of an instance that was looked at since.
    if (this.#firstDue <= now)
      this.#firstDue = this.#nextDue.values().reduce(earlier, Number.POSITIVE_INFINITY);
    return this.#nextDue.size === 0 ? undefined : this.#firstDue - now;
  }

  /** Pauses an instance for `delayMs`, unless it is woken. */
  pause(instanceId: string, delayMs: number): void {
    this.setDue(instanceId, this.#clock.now() + delayMs);
    this.#pausedUntilMs.set(instanceId, this.#clock.monotonic() + delayMs);
  }

  isPaused(instanceId: string): boolean {
    if ((this.#pausedUntilMs.get(instanceId) ?? 0) > this.#clock.monotonic()) return true;
    this.#pausedUntilMs.delete(instanceId);
    return false;
  }
}

function earlier(one: number, other: number): number {
  return Math.min(one, other);
}

const wakes: readonly Wake[] = ['due', 'log', 'all'];

/** Each kind of wake includes those before it. */
function raise(woken: Map<string, Wake>, instanceId: string, wake: Wake): void {
  const before = woken.get(instanceId);
  if (before === undefined || wakes.indexOf(before) < wakes.indexOf(wake)) woken.set(instanceId, wake);
}
