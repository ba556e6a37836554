import type { Socket } from 'node:net';
import { HeadLines } from './head-lines.ts';

/** Bytes of one response, framing included: 16 KiB of headers, 16 KiB of body and two reads ahead fit. */
const answerBytesMax = 256 * 1024;
/**
 * Lines and reads of one response. An interim response, a header, a chunk and a trailer each cost the parser a call and have a line; a
 * slow body costs it a call for each read. This bounds the calls, and so the time that one response takes from all others.
 */
export const answerStepsMax = 1_024;

const LINE_END = 0x0a;

/** The response has more bytes, lines or reads than are parsed. */
export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
  /** Not one of undici's, as in `ConnectFailure`. */
  readonly code = 'ANSWER_TOO_LONG';
}

/** Truncates each response on a connection at the limits above, before it is parsed. */
export class AnswerLimit {
  #bytesLeft = 0;
  #stepsLeft = 0;
  #isCut = false;
  readonly #lines = new HeadLines();

  /** Begins the response to the next request. */
  begin(): void {
    this.#bytesLeft = answerBytesMax;
    this.#stepsLeft = answerStepsMax;
    this.#lines.begin();
  }

  /**
   * Limits what undici reads from a new socket. The part within the limits is handed over, because the status may be in it; the
   * next read destroys the socket with {@link AnswerTooLong}.
   */
  guard(socket: Socket): void {
    this.#isCut = false;
    const read = socket.read.bind(socket);
    socket.read = (size?: number) => {
      if (this.#isCut) {
        socket.destroy(new AnswerTooLong('The answer is longer than what is parsed.'));
        return null;
      }
      const chunk: unknown = read(size);
      return Buffer.isBuffer(chunk) ? this.#lines.complete(this.admit(chunk)) : null;
    };
  }

  /** Returns the part of the bytes that is within the limits; less than all of them is the last part. */
  admit(chunk: Buffer): Buffer {
    let end = Math.min(chunk.length, this.#bytesLeft);
    this.#stepsLeft -= 1;
    for (let at = chunk.indexOf(LINE_END); at !== -1 && at < end; at = chunk.indexOf(LINE_END, at + 1)) {
      this.#stepsLeft -= 1;
      if (this.#stepsLeft <= 0) end = at + 1;
    }
    this.#bytesLeft -= end;
    this.#isCut = this.#bytesLeft <= 0 || this.#stepsLeft <= 0;
    return end === chunk.length ? chunk : chunk.subarray(0, end);
  }
}
