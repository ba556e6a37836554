import { GenerationCache } from './cache.ts';
import { foldCase, foldUtf8 } from './case-folding.ts';

const percent = 0x25;
const underscore = 0x5f;
const backslash = 0x5c;

/**
 * As SQL's LIKE with the escape `\`: `%` is any text, `_` any one character, and case is ignored (case-folding.ts). `text` is
 * UTF-8. Takes a step for each byte of the text and 32 bytes of the pattern, where LIKE itself begins anew at each character that the
 * pattern could begin with: for a text and a pattern of equal letters that is a step for each pair of their bytes.
 *
 * Follows all ways through the pattern at once. Bit `n` of the states is set when the pattern's first `n` steps have matched all of the
 * text so far.
 */
export function matchLike(text: Uint8Array, pattern: string): boolean {
  const steps = compiled.findOrAdd(pattern, compile);
  if (steps === 'none') return false;
  const folded = isAscii(text) ? text : foldUtf8(text);
  return steps.width === 1 ? matchShort(folded, steps) : matchLong(folded, steps);
}

function isAscii(text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index += 1) if ((text[index] ?? 0) >= 0x80) return false;
  return true;
}

/** A filter has at most 200 patterns, and all rows are matched with the same ones. A compiled pattern of 256 bytes takes 10 KiB. */
const compiled = new GenerationCache<string, Steps | 'none'>(64);

/** As {@link matchLong}, for a pattern whose steps fit one word, as nearly all do: in a tenth of the time. */
function matchShort(text: Uint8Array, { advance, stay, last, isOpenEnded }: Steps): boolean {
  const end = 1 << last;
  const [first = 0, within = 0] = stay;
  let states = 1;
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index] ?? 0;
    states = ((states << 1) & (advance[byte] ?? 0)) | (states & (isContinuation(byte) ? within : first));
    if (isOpenEnded && (states & end) !== 0) return true;
  }
  return (states & end) !== 0;
}

function matchLong(text: Uint8Array, { width, advance, stay, last, isOpenEnded }: Steps): boolean {
  const end = 1 << (last & 31);
  const states = new Int32Array(width);
  states[0] = 1;
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index] ?? 0;
    const advanced = byte * width;
    const stayed = isContinuation(byte) ? width : 0;
    let carry = 0;
    for (let word = 0; word < width; word += 1) {
      const before = states[word] ?? 0;
      const next = ((before << 1) | carry) & (advance[advanced + word] ?? 0);
      states[word] = next | (before & (stay[stayed + word] ?? 0));
      carry = before >>> 31;
    }
    if (isOpenEnded && ((states[last >> 5] ?? 0) & end) !== 0) return true;
  }
  return ((states[last >> 5] ?? 0) & end) !== 0;
}

/** Sets of steps, each as `width` words of 32 bits. */
interface Steps {
  readonly width: number;
  /** For each byte, the steps that have matched when it comes and those before them had. */
  readonly advance: Int32Array;
  /** The steps that go on matching: when a byte comes that begins a character, then when another comes. */
  readonly stay: Int32Array;
  /** The step that ends the pattern. */
  readonly last: number;
  /** Whether any text may follow. */
  readonly isOpenEnded: boolean;
}

/** Returns `none` for a pattern that matches nothing, because its last `\` escapes nothing. */
function compile(pattern: string): Steps | 'none' {
  const bytes = new TextEncoder().encode(foldCase(pattern));
  const width = (bytes.length >> 5) + 1;
  const advance = new Int32Array(256 * width);
  const stay = new Int32Array(2 * width);
  let last = 0;
  let isOpenEnded = false;
  const add = (sets: Int32Array, set: number): void => {
    const word = set * width + (last >> 5);
    sets[word] = (sets[word] ?? 0) | (1 << (last & 31));
  };
  for (let index = 0; index < bytes.length; index += 1) {
    let byte = bytes[index] ?? 0;
    isOpenEnded = byte === percent;
    if (byte === percent) {
      add(stay, 0);
      add(stay, 1);
      continue;
    }
    last += 1;
    if (byte === underscore) {
      for (let first = 0; first < 256; first += 1) if (!isContinuation(first)) add(advance, first);
      add(stay, 1);
      continue;
    }
    if (byte === backslash) {
      index += 1;
      if (index === bytes.length) return 'none';
      byte = bytes[index] ?? 0;
    }
    for (const each of bothCases(byte)) add(advance, each);
  }
  return { width, advance, stay, last, isOpenEnded };
}

/** True for a byte within a character, which is not its first. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function bothCases(byte: number): readonly number[] {
  const upper = byte & ~0x20;
  return upper >= 0x41 && upper <= 0x5a ? [upper, upper | 0x20] : [byte];
}
