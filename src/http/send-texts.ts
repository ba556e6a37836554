import type { Writable } from 'node:stream';
import { Pauses } from '../base/pieces.ts';
import type { AnswerMemory } from './answer-memory.ts';

/** Characters of one write to a connection. */
const pieceLength = 256 * 1024;

/** Returns the length of texts in bytes, with other work in between where they are long. */
export async function byteLengthOf(texts: readonly string[], pauses = new Pauses()): Promise<number> {
  let bytes = 0;
  for (const text of texts) {
    bytes += Buffer.byteLength(text);
    const pause = pauses.after(text.length / 8);
    if (pause !== undefined) await pause;
  }
  return bytes;
}

/**
 * Sends texts as the body of an answer whose head was written, at the pace of the client. `texts` has the last first, and is emptied
 * meanwhile, so that no more of the answer is in memory than its client has still to take.
 */
export async function sendTexts(
  response: Writable,
  texts: string[],
  { memory, byteLength }: { readonly memory: AnswerMemory; readonly byteLength: number },
): Promise<void> {
  memory.holdUntilClosed(response);
  let left = lengthOf(texts);
  // Node allocates three bytes for each character of UTF-8.
  const encoding = byteLength === left ? 'latin1' : 'utf8';
  for (const piece of piecesOf(texts)) {
    if (response.destroyed) return;
    left -= piece.length;
    if (!response.write(piece, encoding)) await untilTaken(response);
    memory.note(left + response.writableLength);
  }
  response.end();
}

export function lengthOf(texts: readonly string[]): number {
  let length = 0;
  for (const text of texts) length += text.length;
  return length;
}

function* piecesOf(texts: string[]): Generator<string> {
  for (let text = texts.pop(); text !== undefined; text = texts.pop())
    for (let at = 0; at < text.length;) {
      const to = Math.min(text.length, at + pieceLength);
      // A pair of surrogates is one character.
      const isPair = to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00;
      const end = isPair ? to - 1 : to;
      yield text.slice(at, end);
      at = end;
    }
}

/** Resolves when the connection has taken what was written, or has ended. */
function untilTaken(response: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go);
      response.off('close', go);
      resolve();
    };
    response.once('drain', go);
    response.once('close', go);
  });
}
