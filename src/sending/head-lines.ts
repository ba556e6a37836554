const lineEnd = 0x0a;
const carriageReturn = 0x0d;
/** Where the status begins in `HTTP/1.1 200 OK`. */
const statusAt = 9;
const one = 0x31;

/**
 * Ends the lines of heads as the parser requires. A receiver may end them by a line feed alone (RFC 9112, section 2.2), which the parser rejects, or
 * reads as a part of the body. What follows the head stays as it is.
 */
export class HeadLines {
  #isInHead = true;
  #isFirstLine = true;
  #isInterim = false;
  /** How long the line is so far, and its last byte. */
  #length = 0;
  #last = 0;

  /** Begins the response to the next request. */
  begin(): void {
    this.#isInHead = true;
    this.#beginHead();
  }

  /** Returns the bytes with a carriage return before each line feed of a head that has none. */
  complete(chunk: Buffer): Buffer {
    if (!this.#isInHead) return chunk;
    const parts: Buffer[] = [];
    let from = 0;
    let start = 0;
    while (this.#isInHead && start < chunk.length) {
      const at = chunk.indexOf(lineEnd, start);
      const end = at === -1 ? chunk.length : at;
      this.#note(chunk.subarray(start, end));
      if (at === -1) break;
      if (this.#last !== carriageReturn) {
        parts.push(chunk.subarray(from, at), Buffer.of(carriageReturn));
        from = at;
      }
      this.#endLine();
      start = at + 1;
    }
    return parts.length === 0 ? chunk : Buffer.concat([...parts, chunk.subarray(from)]);
  }

  #note(part: Buffer): void {
    const at = statusAt - this.#length;
    if (this.#isFirstLine && at >= 0 && at < part.length) this.#isInterim = part[at] === one;
    this.#length += part.length;
    this.#last = part.at(-1) ?? this.#last;
  }

  #endLine(): void {
    const isEmpty = this.#length === 0 || (this.#length === 1 && this.#last === carriageReturn);
    this.#length = 0;
    this.#last = 0;
    // The parser skips empty lines before a response.
    if (this.#isFirstLine && isEmpty) return;
    this.#isFirstLine = false;
    if (!isEmpty) return;
    // After an interim response there is another one.
    if (this.#isInterim) this.#beginHead();
    else this.#isInHead = false;
  }

  #beginHead(): void {
    this.#isFirstLine = true;
    this.#isInterim = false;
    this.#length = 0;
    this.#last = 0;
  }
}
