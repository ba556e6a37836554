import { systemClock } from './clock.ts';

/** A turn of the event loop that kept everybody else waiting. */
export interface LongTurn {
  /** Of the processor: a machine that is busy with other work makes every turn long. */
  readonly ms: number;
  /** The instance that most of it was for. */
  readonly instance: string;
  /** How much of it was for that instance, in milliseconds. */
  readonly instanceMs: number;
  /** What the instance was last asked for. */
  readonly route: string;
}

/** A turn that takes so much of the processor is reported. */
export const longTurnMs = 100;

/** Instances whose last route is remembered. */
const routesMax = 1_000;

/**
 * Measures for which instance each turn of the event loop works. It is told whenever work for an instance begins; the time until the next
 * such note is that instance's. So it costs a reading of the clock for each note, and nothing between them.
 */
export class TurnMeter {
  /** Turns that took longer than {@link longTurnMs}. */
  longTurns = 0;
  readonly #onLong: (turn: LongTurn) => void;
  readonly #routes = new Map<string, string>();
  /** Of this turn: milliseconds by instance. */
  readonly #shares = new Map<string, number>();
  #current: string | undefined;
  #startMs = 0;
  #startCpu: NodeJS.CpuUsage = { user: 0, system: 0 };
  #sinceMs = 0;
  readonly #end = (): void => this.#endTurn();

  constructor(onLong: (turn: LongTurn) => void) {
    this.#onLong = onLong;
  }

  /** Notes that this thread works for an instance from now on; `route` where it begins to serve a request. */
  note(instance: string, route?: string): void {
    if (route !== undefined) this.#remember(instance, route);
    if (this.#current === instance) return;
    const nowMs = systemClock.monotonic();
    if (this.#current === undefined) {
      this.#startMs = nowMs;
      this.#startCpu = process.threadCpuUsage();
      setImmediate(this.#end);
    } else this.#charge(this.#current, nowMs);
    this.#current = instance;
    this.#sinceMs = nowMs;
  }

  #remember(instance: string, route: string): void {
    if (this.#routes.size >= routesMax && !this.#routes.has(instance)) this.#routes.clear();
    this.#routes.set(instance, route);
  }

  #charge(instance: string, nowMs: number): void {
    this.#shares.set(instance, (this.#shares.get(instance) ?? 0) + nowMs - this.#sinceMs);
  }

  #endTurn(): void {
    const nowMs = systemClock.monotonic();
    if (this.#current !== undefined) this.#charge(this.#current, nowMs);
    this.#current = undefined;
    const ms = nowMs - this.#startMs;
    if (ms > longTurnMs) this.#report(ms);
    this.#shares.clear();
  }

  #report(wallMs: number): void {
    const cpu = process.threadCpuUsage(this.#startCpu);
    const ms = (cpu.user + cpu.system) / 1_000;
    if (ms <= longTurnMs) return;
    this.longTurns += 1;
    const [most] = [...this.#shares].toSorted(([, a], [, b]) => b - a);
    if (most === undefined) return;
    const [instance, instanceMs] = most;
    this.#onLong({
      ms,
      instance,
      instanceMs: (instanceMs / wallMs) * ms,
      route: this.#routes.get(instance) ?? '',
    });
  }
}
