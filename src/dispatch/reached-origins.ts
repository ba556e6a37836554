/** How long another node's wish is remembered: it repeats it as long as it waits. */
const wishedMs = 60_000;
/** Origins that are remembered; of more, the handshakes tell. */
const originsMax = 4_096;
/** A message to other nodes; PostgreSQL sends less than 8,000 bytes. */
const messageLengthMax = 7_000;

/** What nodes tell each other of origins (scheme, host and port): those they cannot reach, and those of others' that they have reached. */
export interface OriginNews {
  readonly waiting: readonly string[];
  readonly reached: readonly string[];
}

/**
 * The origins at which endpoints accepted webhooks lately. Where others of the same origin could not be reached, that makes a probe of each of
 * them due, as a handshake that succeeds does, and no more often.
 */
export class ReachedOrigins {
  /** Those that this process has reached since the last look, and those that another node has. */
  #reached = new Set<string>();
  #heard = new Set<string>();
  /** The origins that other nodes wait for, and until when, by the monotonic clock. */
  readonly #wished = new Map<string, number>();
  /** Where the next message to other nodes goes on. */
  #sent = 0;

  /** Notes that an attempt succeeded. */
  note(origin: string): void {
    if (this.#reached.size < originsMax) this.#reached.add(origin);
  }

  /** Notes what another node has told. */
  hear({ waiting, reached }: OriginNews, nowMs: number): void {
    for (const origin of reached) if (this.#heard.size < originsMax) this.#heard.add(origin);
    for (const origin of waiting)
      if (this.#wished.size < originsMax || this.#wished.has(origin))
        this.#wished.set(origin, nowMs + wishedMs);
  }

  /** Returns the origins that were reached since the last look, and what of them others wait for. */
  take(nowMs: number): { readonly all: ReadonlySet<string>; readonly wished: readonly string[] } {
    for (const [origin, until] of this.#wished) if (until < nowMs) this.#wished.delete(origin);
    const wished = [...this.#reached].filter((origin) => this.#wished.delete(origin));
    const all = this.#reached.union(this.#heard);
    this.#reached = new Set();
    this.#heard = new Set();
    return { all, wished };
  }

  /** Returns the message to other nodes; undefined where there is nothing to tell. What finds no place in it is in a later one. */
  newsOf(waiting: readonly string[], reached: readonly string[]): OriginNews | undefined {
    if (waiting.length + reached.length === 0) return undefined;
    const first = waiting.length === 0 ? 0 : this.#sent % waiting.length;
    let left = messageLengthMax;
    const fits = (origin: string): boolean => (left -= origin.length + 3) > 0;
    const news = {
      reached: reached.filter(fits),
      waiting: [...waiting.slice(first), ...waiting.slice(0, first)].filter(fits),
    };
    this.#sent = first + news.waiting.length;
    return news;
  }
}
