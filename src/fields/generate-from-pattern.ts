import { unreachable } from '../base/assert.ts';
import { randomText } from '../base/ids.ts';
import { isMatch, PatternError, patternTokens, repetitionOf, type Repetition } from './pattern.ts';

/** Returns a whole number from 0 to below `count`, each equally likely. */
export type Pick = (count: number) => number;

/** A pattern from which texts can be generated, or a part of one. Only {@link generatorPlan} makes them. */
export type GeneratorPlan =
  | { readonly kind: 'character'; readonly characters: readonly string[] }
  | { readonly kind: 'group'; readonly options: readonly (readonly GeneratorPlan[])[] }
  | ({ readonly kind: 'repeat'; readonly part: GeneratorPlan } & Repetition);

/** How many repetitions an open end (`*`, `+`, `{2,}`) may add to its minimum. */
const openRepeatMax = 6;
/** Characters of a generated text: a text field holds at most 5,000 unless its definition allows more. */
const workMax = 5000;
/** Characters of a range beyond ASCII: enough for an alphabet. */
const rangeMax = 256;
/** Characters of all classes together, which the plan holds. */
const charactersMax = 20_000;

const BYTES = String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte));
const PRINTABLE = charactersFrom(0x20, 0x7e);
const LATIN = charactersFrom(0x01, 0xff);

/** Returns a text that matches the pattern as a whole. */
export function generateFromPattern(plan: GeneratorPlan, pick: Pick = pickRandomly): string {
  switch (plan.kind) {
    case 'character':
      return plan.characters[pick(plan.characters.length)] ?? '';
    case 'group': {
      const option = plan.options[pick(plan.options.length)] ?? [];
      return option.map((part) => generateFromPattern(part, pick)).join('');
    }
    case 'repeat': {
      const count = plan.min + pick(plan.max - plan.min + 1);
      let text = '';
      for (let turn = 0; turn < count; turn++) text += generateFromPattern(plan.part, pick);
      return text;
    }
    default:
      return unreachable(plan);
  }
}

/**
 * Prepares a pattern that RE2 accepts, of literals, escapes, classes, groups, alternatives and quantifiers. `^` at its beginning and
 * `$` at its end are allowed and have no effect. Throws a PatternError for everything else, for a class without a storable character,
 * and for a pattern whose texts may exceed 5,000 characters.
 */
export function generatorPlan(pattern: string): GeneratorPlan {
  let sequence: GeneratorPlan[] = [];
  let options = [sequence];
  /** The options of each group that is open. */
  const outer: GeneratorPlan[][][] = [];
  let charactersCount = 0;
  for (const token of withoutAnchors(patternTokens(pattern))) {
    const repetition = repetitionOf(token);
    if (repetition !== undefined) sequence.push(repeat(sequence.pop(), repetition));
    else if (token === ')') {
      const group = { kind: 'group' as const, options };
      options = outer.pop() ?? [];
      sequence = options.at(-1) ?? [];
      sequence.push(group);
    } else if (token === '|') options.push((sequence = []));
    else if (token.startsWith('(')) {
      if (!/^\((?:\?:|\?P?<\w+>)?$/.test(token)) throw new PatternError(`${token} is not supported`);
      outer.push(options);
      options = [(sequence = [])];
    } else {
      const characters = charactersOf(token);
      charactersCount += characters.length;
      if (charactersCount > charactersMax) throw new PatternError('too many classes');
      sequence.push({ kind: 'character', characters });
    }
  }
  const plan: GeneratorPlan = { kind: 'group', options };
  if (workOf(plan) > workMax) throw new PatternError(`texts longer than ${workMax} characters`);
  return plan;
}

function withoutAnchors(tokens: readonly string[]): readonly string[] {
  const first = tokens[0] === '^' || tokens[0] === '\\A' ? 1 : 0;
  const last = tokens.at(-1) === '$' || tokens.at(-1) === '\\z' ? -1 : tokens.length;
  return tokens.slice(first, last);
}

function repeat(part: GeneratorPlan | undefined, { min, max }: Repetition): GeneratorPlan {
  if (part === undefined) throw new PatternError('nothing to repeat');
  return { kind: 'repeat', part, min, max: max === Infinity ? min + openRepeatMax : max };
}

/** Returns the characters that a token stands for: the printable ones of ASCII, or others only if there are none of those. */
function charactersOf(token: string): readonly string[] {
  if (!/^[.[\\^$]/.test(token) && isStorable(token)) return [token];
  const stands = (character: string) => isMatch(`^${token}$`, character);
  const printable = PRINTABLE.filter(stands);
  if (printable.length > 0) return printable;
  const others = new Set([...LATIN, ...charactersNamedIn(token)].filter(isStorable).filter(stands));
  if (others.size === 0) throw new PatternError(`${token} is not supported`);
  return Array.from(others);
}

/** No text may hold U+0000 or a surrogate. */
function isStorable(character: string): boolean {
  return character !== '\0' && character.isWellFormed();
}

/** Returns the characters that a class names one by one and as ranges. Those that do not belong to it are sorted out by RE2. */
function charactersNamedIn(token: string): readonly string[] {
  return Array.from(token.matchAll(/([^\\[\]])(?:-([^\\\]]))?/gu)).flatMap(([, first = '', last = first]) =>
    charactersFrom(first.codePointAt(0) ?? 0, last.codePointAt(0) ?? 0),
  );
}

function charactersFrom(first: number, last: number): readonly string[] {
  if (last - first >= rangeMax) throw new PatternError(`a range of more than ${rangeMax} characters`);
  return Array.from({ length: last - first + 1 }, (_, at) => String.fromCodePoint(first + at));
}

/** Returns an upper bound of the work to generate a text, so that nested repetitions cannot explode. */
function workOf(plan: GeneratorPlan): number {
  switch (plan.kind) {
    case 'character':
      return 1;
    case 'group':
      return Math.max(...plan.options.map((parts) => parts.reduce((work, part) => work + workOf(part), 0)));
    case 'repeat':
      // At least 1 for each repetition: to repeat nothing takes time, too.
      return plan.max * Math.max(workOf(plan.part), 1);
    default:
      return unreachable(plan);
  }
}

/** Uses the random source of ids: these texts become ids and token keys. */
function pickRandomly(count: number): number {
  if (count <= 1) return 0;
  if (count <= BYTES.length) return randomText(1, BYTES.slice(0, count)).charCodeAt(0);
  // 48 random bits: with at most 20,000 choices the first are more likely by less than one in 2^33.
  return parseInt(randomText(12, '0123456789abcdef'), 16) % count;
}
