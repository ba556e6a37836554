import { randomFillSync } from 'node:crypto';

/** The alphabet and the length of ids. */
export const idAlphabet = '0123456789abcdefghijklmnopqrstuvwxyz';
export const idLength = 15;
const STEP_MS = 64;
const STEP_LENGTH = 7;
const TIME_LENGTH = 9;
const TAIL_LENGTH = 11;

/** Random bytes are drawn in blocks: one system call per id would cost more than the rest of the id. */
const pool = Buffer.alloc(4096);
let poolAt = pool.length;

/** Returns a new id: 15 characters of `[a-z0-9]`, 77 random bits. */
export function newId(): string {
  return randomText(idLength, idAlphabet);
}

/**
 * Returns a new id of a record: of the same form, but its text order is nearly its order in time. 7 characters are the time in
 * steps of 64 ms (enough until the year 2128), 8 are random (41 bits). Records made one after the other are then added at the end
 * of an index on ids, not each to a random page.
 */
export function newRecordId(epochMs: number): string {
  const step = Math.floor(epochMs / STEP_MS).toString(36);
  return step.padStart(STEP_LENGTH, '0') + randomText(idLength - STEP_LENGTH, idAlphabet);
}

/**
 * Returns a new id whose text order is its order in time: 9 characters of milliseconds, 11 random ones. Rows with such keys are
 * appended to the end of their index instead of being scattered over it (the idea of UUIDv7, RFC 9562 section 5.7).
 */
export function newTimeOrderedId(epochMs: number): string {
  return epochMs.toString(36).padStart(TIME_LENGTH, '0') + randomText(TAIL_LENGTH, idAlphabet);
}

/** Returns the time that an id of {@link newTimeOrderedId} begins with, in milliseconds since 1970; undefined for any other text. */
export function idTime(id: string): number | undefined {
  if (id.length !== TIME_LENGTH + TAIL_LENGTH || !isOfAlphabet(id)) return undefined;
  const time = Number.parseInt(id.slice(0, TIME_LENGTH), 36);
  return time <= timeMax ? time : undefined;
}

/** The end of the year 9999. */
const timeMax = 253_402_300_799_999;

function isOfAlphabet(id: string): boolean {
  for (const letter of id) if (!idAlphabet.includes(letter)) return false;
  return true;
}

/** Returns `length` characters of `alphabet` (at most 256 of them), each equally likely. */
export function randomText(length: number, alphabet: string): string {
  // Bytes from the largest multiple of the alphabet's size on are drawn again, or its first letters would be more likely.
  const limit = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    if (poolAt === pool.length) {
      randomFillSync(pool);
      poolAt = 0;
    }
    const byte = pool[poolAt++] ?? 0;
    if (byte < limit) text += alphabet[byte % alphabet.length];
  }
  return text;
}

/** Returns so many random bytes as hex. */
export function randomHex(byteCount: number): string {
  if (poolAt + byteCount > pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  poolAt += byteCount;
  return pool.toString('hex', poolAt - byteCount, poolAt);
}

/** A number in [0, 1), for jitter. Nothing that must be hard to guess comes from here. */
export function randomUnit(): number {
  return Math.random();
}
