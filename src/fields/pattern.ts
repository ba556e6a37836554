import { RE2JSSyntaxException, RE2Set } from 're2js';
import { GenerationCache } from '../base/cache.ts';

/** What is wrong with a pattern, as the end of a sentence. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

const lengthMax = 1000;
const statesMax = 2000;
/** States times characters of one match: some 250 ms, for a pattern made to be slow. Any pattern may be matched with 5,000 characters. */
const stepsMax = 10_000_000;
/** What matching one pattern may remember for the next text. A pattern that needs more is slower, and still takes linear time. */
const memoryBytesMax = 2_097_152;

/** Compiled patterns by their text: at most 128, which may remember 256 MiB together. To compile one again takes some 20 µs. */
const compiledPatterns = new GenerationCache<string, CompiledPattern>(64);

interface CompiledPattern {
  readonly set: RE2Set;
  readonly textLengthMax: number;
}

/** Whether a pattern in the syntax of RE2 is found anywhere in a text. Throws a {@link PatternError} as {@link checkPattern} does. */
export function isMatch(pattern: string, text: string): boolean {
  return compiledPatterns.findOrAdd(pattern, compile).set.match(text).length > 0;
}

/**
 * Returns how many characters a text may have that is matched with a pattern: the more states the pattern has, the fewer, so that no text
 * takes seconds. Throws as {@link checkPattern} does.
 */
export function matchedLengthMax(pattern: string): number {
  return compiledPatterns.findOrAdd(pattern, compile).textLengthMax;
}

/** Throws a {@link PatternError} for a pattern that RE2 refuses, or that has more than 1,000 characters or 2,000 states. */
export function checkPattern(pattern: string): void {
  compiledPatterns.findOrAdd(pattern, compile);
}

/** Returns the problem of a pattern, as the end of a sentence, if `work` on it throws a {@link PatternError}. */
export function patternProblem(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

/** Compiles a pattern as a set of one, because the package limits the memory of sets only. */
function compile(pattern: string): CompiledPattern {
  // A text has at least half as many characters as UTF-16 units: a long one is not taken apart.
  if (pattern.length > 2 * lengthMax || Array.from(pattern).length > lengthMax)
    throw new PatternError(`longer than ${lengthMax} characters`);
  // Checked before: RE2 itself allows a million states, which take seconds to compile.
  const states = statesOf(pattern);
  if (states > statesMax) throw new PatternError('expression too large');
  // No flags: one of them would accept look-behinds, which RE2 does not.
  const set = new RE2Set(RE2Set.UNANCHORED, 0, memoryBytesMax);
  try {
    set.add(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const place = error.getPattern();
    const problem = error.getDescription() + (place === null ? '' : `: \`${place}\``);
    throw new PatternError(problem, { cause: error });
  }
  set.compile();
  return { set, textLengthMax: Math.floor(stepsMax / Math.max(states, 1)) };
}

/** How often a quantifier repeats its operand. */
export interface Repetition {
  readonly min: number;
  readonly max: number;
}

/**
 * Flags, the beginning of a group, a quantifier, or a single character or what stands for one. In RE2 the `{` of `a{`, `a{,3}` and
 * `a{02}` is such a character, and so is a `]` at the beginning of a class.
 */
const TOKEN = new RegExp(
  [
    /\(\?[imsU-]*\)/,
    /\((?:\?(?:P?<\w+>|[imsU-]*:))?/,
    /(?:[*+?]|\{(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*)?)?\})\??/,
    /\\Q[^]*?(?:\\E|$)|\\(?:[pPx]\{[^}]*\}|x..|[pP]?[^])|\[\^?\]?(?:\[:[^\]]*:\]|\\[^]|[^\]\\])*\]|[^]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gu',
);

/** Splits a pattern that RE2 accepts into its tokens. */
export function patternTokens(pattern: string): readonly string[] {
  return pattern.match(TOKEN) ?? [];
}

/** Reads a quantifier; undefined for other tokens. */
export function repetitionOf(token: string): Repetition | undefined {
  const match = /^(?:([*+?])|\{(\d+)(,)?(\d+)?\})\??$/.exec(token);
  if (match === null) return undefined;
  const [, sign, least, comma, most = comma === undefined ? least : Infinity] = match;
  if (sign === undefined) return { min: Number(least), max: Number(most) };
  return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
}

/** Returns about as many states as a pattern is compiled to, without compiling it. */
function statesOf(pattern: string): number {
  /** The states before each group that is open. */
  const outer: number[] = [];
  let before = 0;
  /** The states of a quantifier's operand. */
  let last = 0;
  for (const token of patternTokens(pattern)) {
    const repetition = repetitionOf(token);
    if (repetition !== undefined) last = repeatedStates(last, repetition);
    else if (token === ')') {
      last += before;
      before = outer.pop() ?? 0;
    } else if (!token.startsWith('(')) {
      before += last;
      last = token.startsWith('\\Q') ? token.length : 1;
    } else if (!token.endsWith(')')) {
      outer.push(before + last);
      before = token.endsWith(':') ? 0 : 2;
      last = 0;
    }
  }
  return outer.reduce((sum, states) => sum + states, before + last);
}

function repeatedStates(states: number, { min, max }: Repetition): number {
  const isOpen = max === Infinity;
  const copies = Math.max(isOpen ? min : max, 1);
  return Math.max(states, 1) * copies + (isOpen ? 2 : max - min);
}
