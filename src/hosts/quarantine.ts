import type { Clock } from '../base/clock.ts';

const windowMs = 60_000;
/** So many long turns within a minute are no accident. */
const turnsMin = 10;
/** How long an instance is run apart. */
const apartMs = 10 * 60_000;
/** How often it is looked for instances that may go back. */
const lookMs = 5_000;

/** What a pool does. */
export interface QuarantineOptions {
  /** Runs an instance apart. Returns false, and does nothing, where that would help nobody. */
  isolate(instanceId: string): boolean;
  /** Runs an instance among the others again. */
  readmit(instanceId: string): void;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Decides which instances are run apart from the others: those that have caused most of many long turns within a minute, for ten minutes.
 * Their neighbours stay where they are.
 */
export class Quarantine {
  readonly #options: QuarantineOptions;
  /** By instance: when its last long turns were. */
  readonly #turns = new Map<string, number[]>();
  /** By instance: until when it is run apart. */
  readonly #apart = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: QuarantineOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.look(), lookMs).unref();
  }

  /** The instances that are run apart. */
  get instances(): readonly string[] {
    return [...this.#apart.keys()];
  }

  /** Notes a long turn that was mostly for this instance. */
  note(instanceId: string): void {
    const nowMs = this.#options.clock.monotonic();
    const turns = (this.#turns.get(instanceId) ?? []).filter((at) => at > nowMs - windowMs);
    turns.push(nowMs);
    this.#turns.set(instanceId, turns);
    if (turns.length < turnsMin) return;
    this.#turns.delete(instanceId);
    // One that goes on stays apart for longer.
    if (this.#apart.has(instanceId) || this.#options.isolate(instanceId))
      this.#apart.set(instanceId, nowMs + apartMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Lets those go back whose time is over. */
  look(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const [id, turns] of this.#turns) if ((turns.at(-1) ?? 0) < nowMs - windowMs) this.#turns.delete(id);
    for (const [id, untilMs] of this.#apart) {
      if (untilMs > nowMs) continue;
      this.#apart.delete(id);
      this.#options.readmit(id);
    }
  }
}
