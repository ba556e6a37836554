/** Limits a rate (per second): so many tokens are added in a second, and no more than that are kept. Times are milliseconds since 1970. */
export class TokenBucket {
  #tokens = 0;
  #at = Number.NEGATIVE_INFINITY;

  /** Returns how many tokens there are now. */
  available(now: number, rate: number): number {
    this.#refill(now, rate);
    return Math.floor(this.#tokens);
  }

  take(now: number, rate: number): void {
    this.#refill(now, rate);
    this.#tokens -= 1;
  }

  /** Returns when there will be a token. */
  nextAt(now: number, rate: number): number {
    this.#refill(now, rate);
    if (this.#tokens >= 1) return now;
    // Parts of tokens may add up to slightly less than one.
    return Math.max(now + 1, Math.ceil(now + ((1 - this.#tokens) * 1_000) / rate));
  }

  #refill(now: number, rate: number): void {
    // A clock that was set back adds none.
    const passedMs = Math.max(0, now - this.#at);
    this.#tokens = Math.min(Math.max(1, rate), this.#tokens + (passedMs * rate) / 1_000);
    this.#at = now;
  }
}
