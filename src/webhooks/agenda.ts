import type { Clock } from '../base/clock.ts';

/** Tells which instances the dispatcher should look at, and when: woken ones at once, others when a delivery of theirs is due. */
export class Agenda {
  readonly #clock: Clock;
  readonly #woken = new Set<string>();
  /** When an instance's next delivery is due, in milliseconds since 1970. */
  readonly #nextDue = new Map<string, number>();
  /** Until when an instance that could not be read is left alone, by the monotonic clock. */
  readonly #restUntilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get hasWoken(): boolean {
    return this.#woken.size > 0;
  }

  isWoken(instanceId: string): boolean {
    return this.#woken.has(instanceId);
  }

  wake(instanceId: string): void {
    this.#woken.add(instanceId);
  }

  /** Returns and forgets the instances to look at now. A caller that skips one must wake it again. */
  takeWoken(): readonly string[] {
    const now = this.#clock.now();
    for (const [id, due] of this.#nextDue) if (due <= now) this.#woken.add(id);
    const woken = [...this.#woken];
    this.#woken.clear();
    return woken;
  }

  nextDue(instanceId: string): number | undefined {
    return this.#nextDue.get(instanceId);
  }

  setDue(instanceId: string, due: number): void {
    this.#nextDue.set(instanceId, due);
  }

  /** Returns whether `due` is earlier than what was known, and remembers it if so. */
  noteDue(instanceId: string, due: number): boolean {
    if (due >= (this.#nextDue.get(instanceId) ?? Number.POSITIVE_INFINITY)) return false;
    this.#nextDue.set(instanceId, due);
    return true;
  }

  clearDue(instanceId: string): void {
    this.#nextDue.delete(instanceId);
  }

  /** Milliseconds until the first instance is due; undefined when none will be. */
  delayMs(): number | undefined {
    if (this.#nextDue.size === 0) return undefined;
    return Math.min(...this.#nextDue.values()) - this.#clock.now();
  }

  /** Leaves an instance alone for `delayMs`, unless it is woken. */
  rest(instanceId: string, delayMs: number): void {
    this.#nextDue.set(instanceId, this.#clock.now() + delayMs);
    this.#restUntilMs.set(instanceId, this.#clock.monotonic() + delayMs);
  }

  isResting(instanceId: string): boolean {
    if ((this.#restUntilMs.get(instanceId) ?? 0) > this.#clock.monotonic()) return true;
    this.#restUntilMs.delete(instanceId);
    return false;
  }
}
