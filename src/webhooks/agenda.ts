import type { Clock } from '../base/clock.ts';

/** Which instances are to be looked at, and when: those that were woken at once, others when something of theirs is due. */
export class Agenda {
  readonly #clock: Clock;
  readonly #woken = new Set<string>();
  /** In milliseconds since 1970. */
  readonly #nextDue = new Map<string, number>();
  /** Of instances that could not be read, by the monotonic clock. */
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

  /** All that are to be looked at now. Whoever does not look at one wakes it again. */
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

  /** Whether that is earlier than what was known. */
  noteDue(instanceId: string, due: number): boolean {
    if (due >= (this.#nextDue.get(instanceId) ?? Number.POSITIVE_INFINITY)) return false;
    this.#nextDue.set(instanceId, due);
    return true;
  }

  clearDue(instanceId: string): void {
    this.#nextDue.delete(instanceId);
  }

  /** Until the first is due; undefined if none will be. */
  delayMs(): number | undefined {
    if (this.#nextDue.size === 0) return undefined;
    return Math.min(...this.#nextDue.values()) - this.#clock.now();
  }

  /** Leaves an instance alone for so long, unless it is woken. */
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
