import { unreachable } from '../base/assert.ts';
import { randomText } from '../base/ids.ts';
import { codePointAt, countOf, cut, unionOf, type CodePointSet } from './code-point-set.ts';
import type { PatternNode } from './parse-pattern.ts';
import { PatternError } from './pattern-cursor.ts';

/** Returns a whole number from 0 to below `count`, each equally likely. */
export type Pick = (count: number) => number;

/** A pattern from which texts can be generated. Only {@link generatorPlan} makes one. */
export interface GeneratorPlan {
  readonly tree: PatternNode;
}

/** How many repetitions an open end (`*`, `+`, `{2,}`) may add to its minimum. */
const openRepeatMax = 6;
/** Characters of a generated text: a text field holds at most 5,000 unless its definition allows more. */
const workMax = 5000;

const BYTES = String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte));

/** Returns a text that matches the pattern as a whole. */
export function generateFromPattern(plan: GeneratorPlan, pick: Pick = pickRandomly): string {
  return write(plan.tree, pick);
}

/**
 * Prepares a pattern. `^` at its beginning and `$` at its end are allowed and have no effect. Throws a PatternError for other
 * assertions, for sets without a storable character, and for patterns whose texts may exceed 5,000 characters.
 */
export function generatorPlan(pattern: PatternNode): GeneratorPlan {
  const tree = toPrintable(withoutAnchors(pattern));
  if (workOf(tree) > workMax) throw new PatternError(`texts longer than ${workMax} characters`);
  return { tree };
}

function withoutAnchors(tree: PatternNode): PatternNode {
  if (tree.kind !== 'sequence') return tree;
  const isAnchor = (node: PatternNode | undefined, what: string) =>
    node?.kind === 'assertion' && node.what === what;
  const first = isAnchor(tree.nodes[0], 'textStart') ? 1 : 0;
  const last = tree.nodes.length - (isAnchor(tree.nodes.at(-1), 'textEnd') ? 1 : 0);
  return { kind: 'sequence', nodes: tree.nodes.slice(first, last) };
}

/** Returns the tree with each set reduced to printable characters, so that `.` generates no control characters. */
function toPrintable(node: PatternNode): PatternNode {
  switch (node.kind) {
    case 'set':
      return { kind: 'set', set: printableOf(node.set) };
    case 'repeat':
      return { ...node, node: toPrintable(node.node) };
    case 'sequence':
    case 'choice':
      return { kind: node.kind, nodes: node.nodes.map(toPrintable) };
    case 'assertion':
      throw new PatternError('assertions inside a generated text are not supported');
    default:
      return unreachable(node);
  }
}

function printableOf(set: CodePointSet): CodePointSet {
  const ascii = cut(set, 0x20, 0x7e);
  if (ascii.length > 0) return ascii;
  // No text may hold U+0000 or a surrogate.
  const storable = unionOf([cut(set, 0x01, 0xd7ff), cut(set, 0xe000, 0x10ffff)]);
  if (storable.length === 0) throw new PatternError('a set without characters');
  return storable;
}

/** Returns an upper bound of the work to generate a text, so that nested repetitions cannot explode. */
function workOf(node: PatternNode): number {
  switch (node.kind) {
    case 'set':
    case 'assertion':
      return 1;
    case 'sequence':
      return node.nodes.reduce((work, part) => work + workOf(part), 0);
    case 'choice':
      return Math.max(...node.nodes.map(workOf));
    case 'repeat':
      // At least 1 for each repetition: to repeat nothing takes time, too.
      return mostRepeats(node) * Math.max(workOf(node.node), 1);
    default:
      return unreachable(node);
  }
}

function mostRepeats(node: PatternNode & { kind: 'repeat' }): number {
  return node.max === Infinity ? node.min + openRepeatMax : node.max;
}

function write(node: PatternNode, pick: Pick): string {
  switch (node.kind) {
    case 'set':
      return String.fromCodePoint(codePointAt(node.set, pick(countOf(node.set))));
    case 'sequence':
      return node.nodes.map((part) => write(part, pick)).join('');
    case 'choice': {
      const option = node.nodes[pick(node.nodes.length)];
      return option === undefined ? '' : write(option, pick);
    }
    case 'repeat': {
      const count = node.min + pick(mostRepeats(node) - node.min + 1);
      let text = '';
      for (let turn = 0; turn < count; turn++) text += write(node.node, pick);
      return text;
    }
    case 'assertion':
      // Refused by toPrintable.
      return '';
    default:
      return unreachable(node);
  }
}

/** Uses the random source of ids: these texts become ids and token keys. */
function pickRandomly(count: number): number {
  if (count <= 1) return 0;
  if (count <= BYTES.length) return randomText(1, BYTES.slice(0, count)).charCodeAt(0);
  // 48 random bits: with at most 2^20.1 choices the first are more likely by less than one in 2^27.
  return parseInt(randomText(12, '0123456789abcdef'), 16) % count;
}
