/** Tells whoever waits that something has happened. What happened before the wait is not told. */
export class Signal {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next {@link notify}, or after `delayMs`. */
  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, delayMs);
      this.#waiting.add(end);
    });
  }

  notify(): void {
    for (const end of this.#waiting) end();
  }
}
