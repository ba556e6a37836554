import { unreachable } from '../base/assert.ts';
import { hasCodePoint, type CodePointSet } from './code-point-set.ts';
import type { Assertion, PatternNode } from './parse-pattern.ts';
import { PatternError } from './pattern-cursor.ts';

/** A pattern that is matched in time proportional to its states times the length of the text. */
export interface LinearPattern {
  /** Whether the pattern is found anywhere in the text. */
  readonly test: (text: string) => boolean;
  /** The same, with the number of states that were visited, which must never grow faster than the text. */
  readonly run: (text: string) => MatchRun;
}

interface MatchRun {
  readonly isMatch: boolean;
  readonly steps: number;
}

type State =
  | { readonly kind: 'set'; readonly set: CodePointSet; readonly next: number }
  | { readonly kind: 'assertion'; readonly what: Assertion; readonly next: number }
  | { readonly kind: 'split'; next: number; other: number }
  | { readonly kind: 'match' };

interface Program {
  readonly states: readonly State[];
  readonly start: number;
}

/** With this limit a text of 5,000 characters takes at most ten million steps: some 100 ms, for a pattern made to be slow. */
const statesMax = 2000;

/**
 * Compiles a pattern to a non-deterministic automaton after Thompson ("Regular Expression Search Algorithm", 1968). It is run by
 * keeping the set of all states that are possible at a character, so that nothing is tried twice. Throws a PatternError above
 * 2,000 states.
 */
export function linearPattern(tree: PatternNode): LinearPattern {
  const program = compile(tree);
  return { test: (text) => run(program, text).isMatch, run: (text) => run(program, text) };
}

interface Builder {
  readonly states: State[];
  visits: number;
}

function compile(tree: PatternNode): Program {
  const builder: Builder = { states: [{ kind: 'match' }], visits: 0 };
  return { start: build(tree, 0, builder), states: builder.states };
}

/** Adds the states of a node before the state `next`, which follows it; returns the first of them. */
function build(node: PatternNode, next: number, builder: Builder): number {
  // Visits are limited, too: nested repetitions of nothing would make no states, and take forever.
  if (++builder.visits > 4 * statesMax) throw new PatternError('too large');
  switch (node.kind) {
    case 'set':
      return addState(builder, { kind: 'set', set: node.set, next });
    case 'assertion':
      return addState(builder, { kind: 'assertion', what: node.what, next });
    case 'sequence':
      return node.nodes.reduceRight((following, part) => build(part, following, builder), next);
    case 'choice':
      return node.nodes
        .map((option) => build(option, next, builder))
        .reduceRight((other, option) => addState(builder, { kind: 'split', next: option, other }));
    case 'repeat':
      return buildRepeat(node, next, builder);
    default:
      return unreachable(node);
  }
}

function buildRepeat(node: PatternNode & { kind: 'repeat' }, next: number, builder: Builder): number {
  let entry = next;
  let copies = node.min;
  if (node.max === Infinity) {
    const split = { kind: 'split' as const, next: 0, other: next };
    const loop = addState(builder, split);
    const body = build(node.node, loop, builder);
    split.next = body;
    // The loop's body serves as the last mandatory copy: with two copies, each level of `(((a+)+)+)+` would double the states.
    entry = copies > 0 ? body : loop;
    copies = Math.max(copies - 1, 0);
  } else
    for (let left = node.max - node.min; left > 0; left--)
      entry = addState(builder, { kind: 'split', next: build(node.node, entry, builder), other: next });
  for (; copies > 0; copies--) entry = build(node.node, entry, builder);
  return entry;
}

function addState(builder: Builder, state: State): number {
  if (builder.states.length >= statesMax) throw new PatternError('too large');
  return builder.states.push(state) - 1;
}

function run(program: Program, text: string): MatchRun {
  const { states, start } = program;
  /** The position at which a state was last looked at, so that no state is looked at twice there. */
  const seenAt = new Int32Array(states.length).fill(-1);
  let arrived: number[] = [];
  let steps = 0;
  let before: number | undefined;
  for (let at = 0; ;) {
    const after = text.codePointAt(at);
    const next: number[] = [];
    // A match may begin at every character.
    arrived.push(start);
    for (let index = arrived.pop(); index !== undefined; index = arrived.pop()) {
      const state = states[index];
      if (state === undefined || seenAt[index] === at) continue;
      seenAt[index] = at;
      steps++;
      if (state.kind === 'match') return { isMatch: true, steps };
      if (state.kind === 'split') arrived.push(state.other, state.next);
      else if (state.kind === 'assertion') {
        if (holds(state.what, before, after)) arrived.push(state.next);
      } else if (after !== undefined && hasCodePoint(state.set, after)) next.push(state.next);
    }
    if (after === undefined) return { isMatch: false, steps };
    arrived = next;
    before = after;
    at += after > 0xffff ? 2 : 1;
  }
}

/** Whether an assertion holds between two characters; undefined is the beginning or end of the text. */
function holds(what: Assertion, before: number | undefined, after: number | undefined): boolean {
  switch (what) {
    case 'textStart':
      return before === undefined;
    case 'textEnd':
      return after === undefined;
    case 'lineStart':
      return before === undefined || before === 0x0a;
    case 'lineEnd':
      return after === undefined || after === 0x0a;
    case 'wordBoundary':
      return isWord(before) !== isWord(after);
    case 'noWordBoundary':
      return isWord(before) === isWord(after);
    default:
      return unreachable(what);
  }
}

function isWord(point: number | undefined): boolean {
  return point !== undefined && hasCodePoint(WORD, point);
}

/** 0–9, A–Z, _, a–z. */
const WORD: CodePointSet = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a];
