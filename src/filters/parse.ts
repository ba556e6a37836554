import { unreachable } from '../base/assert.ts';
import { filterError, filterLimits, quote } from './filter-error.ts';
import { scanToken, type Token } from './scan.ts';

/**
 * The map of this folder.
 *
 *   text ── scan.ts, parse.ts ──► FilterTree ── compile.ts ──► Sql
 *
 *   level      := item { join item | group }      a group without a join before it repeats the last join of its level, initially &&
 *   item       := comparison | group
 *   group      := "(" level ")"                   at most 32 inside each other
 *   join       := "&&" | "||"                     && binds tighter
 *   comparison := operand operator operand        at most 200
 *   operator   := [ "?" ] ( "=" | "!=" | "~" | "!~" | "<" | "<=" | ">" | ">=" )
 *   operand    := identifier | number | text | call
 *   call       := name"(" [ operand { "," operand } ] ")"      at most 3 inside each other, no blank before the parenthesis
 *   identifier := [A-Za-z@_#] [A-Za-z0-9_.:]*     not ending in "." or ":", not a lone sign
 *   number     := [ "-" ] digits [ "." digits ]
 *   text       := '…' | "…"                       escapes in both: \\ \' \" \n \t \r
 *
 * Between tokens: space, tab, newline, and `//` up to the end of its line. Source: http-api section 8.1.
 *
 * compile/        compile.ts compiles a tree to a condition, and decides what a comparison means: null, empty, numbers and texts, the
 *                 same for every engine. It knows no collection: names are resolved by a Resolve (operand.ts). resolve.ts turns an
 *                 operand of the tree into a constant or an Operand; sort.ts: the order of a list, with the same names as in filters
 * template.ts     what filters have in common that differ only in their constants
 * functions/      one file for each function: the checks of its arguments, and its SQL for each engine; resolve.ts lists them
 * dialect.ts      what the engines write differently; implemented by the files sqlite-*.ts and postgres-*.ts
 * forms-expression.ts   patterns and texts without regard to case on PostgreSQL, which knows it in no version and locale alike
 *
 * Everything wrong with a text is an AppError `bad_request` made by filter-error.ts, with its position.
 */
export function parseFilter(text: string): FilterTree {
  checkText(text);
  const parser: Parser = { text, token: scanToken(text, 0), before: undefined, comparisons: 0 };
  const tree = parseLevel(parser, 0);
  if (kindAhead(parser) !== 'end') throw expected(parser, '"&&", "||" or the end');
  return tree;
}

/** The state of a parse: only `advance` moves it, and only forward. */
interface Parser {
  readonly text: string;
  token: Token;
  before: Token | undefined;
  comparisons: number;
}

const encoder = new TextEncoder();

/** Throws a filter error for a text that is too long or has characters that no filter may contain. */
export function checkText(text: string): void {
  if (isTooLong(text)) {
    throw filterError(`Expected at most ${filterLimits.bytesMax} bytes; the filter is longer`, 0);
  }
  if (!text.isWellFormed()) throw filterError('Expected well-formed Unicode; a surrogate stands alone', 0);
  const nul = text.indexOf('\u0000');
  if (nul !== -1) throw filterError('The character U+0000 is not allowed', nul);
}

/** True when a text exceeds `bytesMax`. It has one to three bytes for each UTF-16 unit, so most texts need not be encoded. */
function isTooLong(text: string): boolean {
  const { bytesMax } = filterLimits;
  if (text.length > bytesMax) return true;
  return text.length * 3 > bytesMax && encoder.encode(text).length > bytesMax;
}

/** Parses the items up to a closing parenthesis or the end. */
function parseLevel(parser: Parser, depth: number): FilterTree {
  const position = parser.token.start;
  const alternatives: FilterTree[][] = [];
  let join = '&&';
  for (;;) {
    const item = parseItem(parser, depth);
    const last = alternatives.at(-1);
    if (last === undefined || join === '||') alternatives.push([item]);
    else last.push(item);
    if (kindAhead(parser) === 'join') join = advance(parser).text;
    else if (kindAhead(parser) !== 'open') break;
  }
  const items = alternatives.map((items) => junction('and', items, position));
  return junction('or', items, position);
}

function junction(kind: 'and' | 'or', items: readonly FilterTree[], position: number): FilterTree {
  const [only, ...others] = items;
  return only !== undefined && others.length === 0 ? only : { kind, items, position };
}

function parseItem(parser: Parser, depth: number): FilterTree {
  if (kindAhead(parser) !== 'open') return parseComparison(parser);
  // Counted on the way in: a text of nothing but parentheses is refused at the 33rd, whatever follows.
  if (depth === filterLimits.depthMax) {
    throw filterError(
      `Expected at most ${filterLimits.depthMax} parentheses inside each other; one more`,
      parser.token.start,
    );
  }
  advance(parser);
  const level = parseLevel(parser, depth + 1);
  if (kindAhead(parser) !== 'close') throw expected(parser, '"&&", "||" or ")"');
  advance(parser);
  return level;
}

function parseComparison(parser: Parser): Comparison {
  const position = parser.token.start;
  if (parser.comparisons === filterLimits.comparisonsMax) {
    throw filterError(`Expected at most ${filterLimits.comparisonsMax} comparisons; one more`, position);
  }
  parser.comparisons += 1;
  const left = parseOperand(parser, 'a comparison or "("', 0);
  if (kindAhead(parser) !== 'operator') throw expected(parser, 'an operator');
  const operator = advance(parser).text;
  const isAny = operator.startsWith('?');
  // The scanner refuses every other operator.
  const symbol = operator.slice(isAny ? 1 : 0) as Operator;
  const right = parseOperand(parser, 'a value', 0);
  return {
    kind: 'comparison',
    left,
    operator: symbol,
    isAny,
    right,
    position,
  };
}

function parseOperand(parser: Parser, what: string, callDepth: number): OperandNode {
  const { kind, text, start: position } = parser.token;
  switch (kind) {
    case 'identifier':
      advance(parser);
      return { kind, name: text, position };
    case 'number':
      advance(parser);
      return { kind, value: toNumber(text, position), position };
    case 'text':
      advance(parser);
      return { kind, value: text, position };
    case 'call':
      return parseCall(parser, callDepth);
    case 'operator':
    case 'join':
    case 'open':
    case 'close':
    case 'comma':
    case 'end':
      throw expected(parser, what);
    default:
      return unreachable(kind);
  }
}

function parseCall(parser: Parser, callDepth: number): CallNode {
  const { text: name, start: position } = parser.token;
  if (callDepth === filterLimits.callDepthMax) {
    throw filterError(
      `Expected at most ${filterLimits.callDepthMax} functions inside each other; one more`,
      position,
    );
  }
  advance(parser);
  const operands: OperandNode[] = [];
  while (kindAhead(parser) !== 'close') {
    if (operands.length > 0) {
      if (kindAhead(parser) !== 'comma') throw expected(parser, '"," or ")"');
      advance(parser);
    }
    operands.push(
      parseOperand(parser, operands.length === 0 ? 'an argument or ")"' : 'an argument', callDepth + 1),
    );
  }
  advance(parser);
  return { kind: 'call', name, arguments: operands, position };
}

/** Refuses a number that would silently become another one, as in bodies (http-api A14). */
export function toNumber(text: string, position: number): number {
  const value = Number(text);
  if (!Number.isFinite(value)) throw filterError(`The number ${quote(text)} is too large`, position);
  if (!text.includes('.') && !Number.isSafeInteger(value)) {
    throw filterError(`Expected an integer within ±9007199254740991 and found ${quote(text)}`, position);
  }
  return value;
}

/** A function, because the type checker would otherwise take a kind it has narrowed as unchanged after `advance`. */
function kindAhead(parser: Parser): Token['kind'] {
  return parser.token.kind;
}

function advance(parser: Parser): Token {
  const token = parser.token;
  parser.before = token;
  parser.token = scanToken(parser.text, token.end);
  return token;
}

function expected(parser: Parser, what: string): Error {
  const { before, token, text } = parser;
  const after = before === undefined ? '' : ` after ${quote(text.slice(before.start, before.end))}`;
  return filterError(`Expected ${what}${after}`, token.start);
}

/** A parsed filter. Every node has its position in the text (UTF-16 units from 0), so that errors of compilation can name it. */
export type FilterTree = Junction | Comparison;

/** Two or more conditions, of which all or at least one must hold. Junctions of the same kind may be nested. */
interface Junction {
  readonly kind: 'and' | 'or';
  readonly items: readonly FilterTree[];
  readonly position: number;
}

export interface Comparison {
  readonly kind: 'comparison';
  readonly left: OperandNode;
  readonly operator: Operator;
  /** True when written with `?`: one matching value is enough, while the plain operator requires that all match. */
  readonly isAny: boolean;
  readonly right: OperandNode;
  /** The position of the first operand. */
  readonly position: number;
}

export type Operator = '=' | '!=' | '~' | '!~' | '<' | '<=' | '>' | '>=';

export type OperandNode = IdentifierNode | NumberNode | TextNode | CallNode;

export interface IdentifierNode {
  readonly kind: 'identifier';
  /** As written, a modifier included: `author.name`, `tags:each`, `@now`. */
  readonly name: string;
  readonly position: number;
}

interface NumberNode {
  readonly kind: 'number';
  readonly value: number;
  readonly position: number;
}

interface TextNode {
  readonly kind: 'text';
  /** Without its quotes and escapes. */
  readonly value: string;
  readonly position: number;
}

export interface CallNode {
  readonly kind: 'call';
  readonly name: string;
  readonly arguments: readonly OperandNode[];
  readonly position: number;
}

/** Returns the comparisons in a filter, in the order in which they are written. */
export function comparisonsOf(tree: FilterTree): readonly Comparison[] {
  return tree.kind === 'comparison' ? [tree] : tree.items.flatMap(comparisonsOf);
}
