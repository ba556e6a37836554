/** Counts statements that a PostgreSQL client sends. A frame is a type byte, four bytes of length and a body; the first has no type. */
export class StatementCounter {
  readonly #onStatement: () => void;
  #bytes: Buffer = Buffer.alloc(0);
  #hasStarted = false;

  constructor(onStatement: () => void) {
    this.#onStatement = onStatement;
  }

  take(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    for (;;) {
      const lengthAt = this.#hasStarted ? 1 : 0;
      if (this.#bytes.length < lengthAt + 4) return;
      const end = lengthAt + this.#bytes.readInt32BE(lengthAt);
      if (this.#bytes.length < end) return;
      // Query, and Execute of a statement that was parsed and bound (PostgreSQL's manual, "Message Formats").
      if (this.#hasStarted && 'QE'.includes(String.fromCharCode(this.#bytes[0] ?? 0))) this.#onStatement();
      this.#hasStarted = true;
      this.#bytes = this.#bytes.subarray(end);
    }
  }
}
