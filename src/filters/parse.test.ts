import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { unreachable } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import { type FilterTree, type OperandNode, parseFilter } from './parse.ts';
import { printText } from './scan.ts';

/** The tree with all its parentheses: `((a = 1 and b = 2) or c = 3)`. A text that could be read again by eye. */
function show(tree: FilterTree): string {
  if (tree.kind !== 'comparison') return `(${tree.items.map(show).join(` ${tree.kind} `)})`;
  return `${showOperand(tree.left)} ${tree.isAny ? '?' : ''}${tree.operator} ${showOperand(tree.right)}`;
}

function showOperand(node: OperandNode): string {
  if (node.kind === 'identifier') return node.name;
  if (node.kind === 'call') return `${node.name}(${node.arguments.map(showOperand).join(', ')})`;
  return JSON.stringify(node.value);
}

/** Backslash and the like are easier to read in String.raw than escaped twice. */
const raw = String.raw;

const understood: readonly (readonly [text: string, tree: string])[] = [
  ...['=', '!=', '~', '!~', '<', '<=', '>', '>='].flatMap((operator) => [
    [`a${operator}1`, `a ${operator} 1`] as const,
    [`a ?${operator} 1`, `a ?${operator} 1`] as const,
  ]),
  ['a=-1', 'a = -1'],
  ['a=-0.50', 'a = -0.5'],
  ['a = 007', 'a = 7'],
  ['a = 9007199254740991', 'a = 9007199254740991'],
  ['a = 99999999999999999999.5', 'a = 100000000000000000000'],
  ['1=1', '1 = 1'],
  [`'a'="b"`, '"a" = "b"'],
  [`a=''`, 'a = ""'],
  [raw`a='it\'s'`, `a = "it's"`],
  [raw`a="\""`, raw`a = "\""`],
  [raw`a='\"'`, raw`a = "\""`],
  [raw`a="\'"`, raw`a = "'"`],
  [raw`a='\\'`, raw`a = "\\"`],
  [raw`a="\\" && b=1`, raw`(a = "\\" and b = 1)`],
  [raw`a='\\\'b'`, raw`a = "\\'b"`],
  [raw`a='\n\t\r'`, raw`a = "\n\t\r"`],
  [raw`a="\\n\\\\x"`, raw`a = "\\n\\\\x"`],
  [raw`a='\b\f\0\u00e9\x\%\_\/'`, raw`a = "\\b\\f\\0\\u00e9\\x\\%\\_\\/"`],
  [`a='// no comment'`, 'a = "// no comment"'],
  [`a='(' && b=')'`, '(a = "(" and b = ")")'],
  ['a=1&&b=2', '(a = 1 and b = 2)'],
  ['a=1 || b=2 && c=3', '(a = 1 or (b = 2 and c = 3))'],
  ['a=1 && b=2 || c=3', '((a = 1 and b = 2) or c = 3)'],
  ['a=1 && b=2 || c=3 && d=4 || e=5', '((a = 1 and b = 2) or (c = 3 and d = 4) or e = 5)'],
  ['a=1 && (b=2 || c=3)', '(a = 1 and (b = 2 or c = 3))'],
  ['((a=1))', 'a = 1'],
  ['a=1(b=2)', '(a = 1 and b = 2)'],
  ['a=1 || b=2 (c=3)', '(a = 1 or b = 2 or c = 3)'],
  ['a=1 || b=2 && c=3 (d=4)', '(a = 1 or (b = 2 and c = 3 and d = 4))'],
  ['(a=1)(b=2)(c=3)', '(a = 1 and b = 2 and c = 3)'],
  ['(a=1||b=2)(c=3)', '((a = 1 or b = 2) and c = 3)'],
  ['a=1 || (b=2 (c=3))', '(a = 1 or (b = 2 and c = 3))'],
  [' \t\n a \n=\t1 ', 'a = 1'],
  ['// first\na=1// second\n&&//third\nb=2 // last', '(a = 1 and b = 2)'],
  ['a = 1 ////', 'a = 1'],
  ['@now > _x', '@now > _x'],
  ['#a.b_1:lower ~ A9', '#a.b_1:lower ~ A9'],
  ['a..b = a:.b', 'a..b = a:.b'],
  ['@request.headers.x_y = null', '@request.headers.x_y = null'],
  ['f() = 1', 'f() = 1'],
  [`f( a , 'b', -1,g(h(@x)) ) ?= 1`, 'f(a, "b", -1, g(h(@x))) ?= 1'],
  ['f( // why\n a //\n) = 1', 'f(a) = 1'],
  ['a = f(1)(b=2)', '(a = f(1) and b = 2)'],
];

for (const [text, tree] of understood) {
  test(`${JSON.stringify(text)} is understood as ${tree}`, () => {
    assert.equal(show(parseFilter(text)), tree);
  });
}

const refused: readonly (readonly [text: string, message: string])[] = [
  ['', 'Expected a comparison or "(" at position 0.'],
  [' \n\t', 'Expected a comparison or "(" at position 3.'],
  ['// nothing', 'Expected a comparison or "(" at position 10.'],
  ['()', 'Expected a comparison or "(" after "(" at position 1.'],
  ['a=1 && ()', 'Expected a comparison or "(" after "(" at position 8.'],
  ['title', 'Expected an operator after "title" at position 5.'],
  ['title foo', 'Expected an operator after "title" at position 6.'],
  ['title =', 'Expected a value after "=" at position 7.'],
  ['title = = 1', 'Expected a value after "=" at position 8.'],
  ['title = (a=1)', 'Expected a value after "=" at position 8.'],
  ['= 1', 'Expected a comparison or "(" at position 0.'],
  ['a=1 b=2', 'Expected "&&", "||" or the end after "1" at position 4.'],
  ['(a=1) b=2', 'Expected "&&", "||" or the end after ")" at position 6.'],
  ['(a=1', 'Expected "&&", "||" or ")" after "1" at position 4.'],
  ['a=1)', 'Expected "&&", "||" or the end after "1" at position 3.'],
  ['a=1 &&', 'Expected a comparison or "(" after "&&" at position 6.'],
  ['&& a=1', 'Expected a comparison or "(" at position 0.'],
  ['a=1 && && b=2', 'Expected a comparison or "(" after "&&" at position 7.'],
  ['a=1,b=2', 'Expected "&&", "||" or the end after "1" at position 3.'],
  ['a=1 & b=2', 'Expected "&&" or "||" and found "&" at position 4.'],
  ['a=1 ||| b=2', 'Expected "&&" or "||" and found "|||" at position 4.'],
  ['a == 1', 'Unknown operator "==" at position 2.'],
  ['a =! 1', 'Unknown operator "=!" at position 2.'],
  ['a ? 1', 'Unknown operator "?" at position 2.'],
  ['a <> 1', 'Unknown operator "<>" at position 2.'],
  ['!'.repeat(100), `Unknown operator "${'!'.repeat(60)}…" at position 0.`],
  [`a = 'x`, 'Expected a closing quote for the text that begins at position 4.'],
  [raw`a = "a\"`, 'Expected a closing quote for the text that begins at position 4.'],
  [raw`a = 'a\\\'`, 'Expected a closing quote for the text that begins at position 4.'],
  [`a = 'x"`, 'Expected a closing quote for the text that begins at position 4.'],
  ['a = -', 'Expected a number like 5, -5 or 0.5 and found "-" at position 4.'],
  ['a = - - -1', 'Expected a number like 5, -5 or 0.5 and found "-" at position 4.'],
  ['a = 1.', 'Expected a number like 5, -5 or 0.5 and found "1." at position 4.'],
  ['a = 1.2.3', 'Expected a number like 5, -5 or 0.5 and found "1.2.3" at position 4.'],
  ['a = .5', 'Unexpected character "." at position 4.'],
  ['a = +5', 'Unexpected character "+" at position 4.'],
  ['a = 1e5', 'Expected "&&", "||" or the end after "1" at position 5.'],
  [
    'a = 9007199254740992',
    'Expected an integer within ±9007199254740991 and found "9007199254740992" at position 4.',
  ],
  [`a = ${'9'.repeat(400)}.5`, `The number "${'9'.repeat(60)}…" is too large at position 4.`],
  ['a. = 1', 'Expected a name after "a." at position 2.'],
  ['a: = 1', 'Expected a name after "a:" at position 2.'],
  ['@ = 1', 'Expected a name after "@" at position 1.'],
  ['_ = 1', 'Expected a name after "_" at position 1.'],
  ['# = 1', 'Expected a name after "#" at position 1.'],
  ['a = {}', 'Unexpected character "{" at position 4.'],
  ['data[0] = 1', 'Unexpected character "[" at position 4.'],
  ['data.$.a = 1', 'Expected a name after "data." at position 5.'],
  ['a = 1 / 2', 'Expected a second "/" (a comment begins with "//") after "/" at position 7.'],
  ['a = 1\r\n', 'Unexpected character "\r" at position 5.'],
  ['n\u0430me = 1', 'Unexpected character "\u0430" at position 1.'],
  ['a \uff1d 1', 'Unexpected character "\uff1d" at position 2.'],
  ['a = \u02bcx\u02bc', 'Unexpected character "\u02bc" at position 4.'],
  ['a\u00a0= 1', 'Unexpected character "\u00a0" at position 1.'],
  ['a = \u{1f600}', 'Unexpected character "\u{1f600}" at position 4.'],
  [`a = 'x\u0000'`, 'The character U+0000 is not allowed at position 6.'],
  ['f(a,) = 1', 'Expected an argument after "," at position 4.'],
  ['f(,a) = 1', 'Expected an argument or ")" after "f(" at position 2.'],
  ['f(a b) = 1', 'Expected "," or ")" after "a" at position 4.'],
  ['f(a', 'Expected "," or ")" after "a" at position 3.'],
  ['f((a)) = 1', 'Expected an argument or ")" after "f(" at position 2.'],
  ['f (a) = 1', 'Expected an operator after "f" at position 2.'],
  ['f(a = 1) = 1', 'Expected "," or ")" after "a" at position 4.'],
  ['f(g(h(i(a)))) = 1', 'Expected at most 3 functions inside each other; one more at position 6.'],
];

for (const [text, message] of refused) {
  test(`${JSON.stringify(text).slice(0, 80)} is refused: ${message.slice(0, 80)}`, () => {
    assert.throws(
      () => parseFilter(text),
      (error) =>
        error instanceof AppError &&
        error.code === 'bad_request' &&
        assert.equal(error.message, message) === undefined,
    );
  });
}

test('every node knows where it stands in the text', () => {
  const tree = parseFilter(' a = 1 && ( f( x ) ?~ "t" || @now > b.c )');
  assert.deepEqual(positions(tree), [1, 1, 1, 5, 12, 12, 12, 15, 22, 29, 29, 36]);
});

/** Of each node and then its parts, in their order. */
function positions(node: FilterTree | OperandNode): number[] {
  switch (node.kind) {
    case 'and':
    case 'or':
      return [node.position, ...node.items.flatMap(positions)];
    case 'comparison':
      return [node.position, ...positions(node.left), ...positions(node.right)];
    case 'call':
      return [node.position, ...node.arguments.flatMap(positions)];
    case 'identifier':
    case 'number':
    case 'text':
      return [node.position];
    default:
      return unreachable(node);
  }
}

test('3,500 bytes of UTF-8 are accepted and 3,501 refused', () => {
  const filter = (bytes: number): string => `a = '${'x'.repeat(bytes - 6)}'`;
  assert.equal(filter(3_500).length, 3_500);
  parseFilter(filter(3_500));
  assert.throws(() => parseFilter(filter(3_501)), /at most 3500 bytes/);
  assert.throws(() => parseFilter(`a = '${'ü'.repeat(1_748)}'`), /at most 3500 bytes/);
});

test('200 comparisons are accepted and 201 refused, in chains and in groups', () => {
  const chain = (count: number, join: string): string =>
    Array.from({ length: count }, () => 'a=1').join(join);
  parseFilter(chain(200, '&&'));
  assert.throws(() => parseFilter(chain(201, '||')), /at most 200 comparisons; one more at position 1000/);
  assert.throws(() => parseFilter(`(${chain(200, '&&')})||b=2`), /at most 200 comparisons/);
});

test('32 nested parentheses are accepted, 33 and any number more are refused at the 33rd', () => {
  const nested = (depth: number): string => `${'('.repeat(depth)}a=1${')'.repeat(depth)}`;
  parseFilter(nested(32));
  assert.throws(
    () => parseFilter(nested(33)),
    /at most 32 parentheses inside each other; one more at position 32/,
  );
  assert.throws(() => parseFilter('('.repeat(3_500)), /one more at position 32/);
  assert.throws(() => parseFilter('('.repeat(100_000)), /at most 3500 bytes/);
});

test('a lone surrogate is refused', () => {
  assert.throws(() => parseFilter(`a = '\ud800'`), /well-formed Unicode/);
});

/** A text that counts how often one of its characters is looked at. */
class CountingText extends String {
  reads = 0;
  override charCodeAt(index: number): number {
    this.reads += 1;
    return super.charCodeAt(index);
  }
}

const pieces = fc.constantFrom(
  ...`a b.c @now x:each 1 -2.5 't' " ' \\ = ! ~ < > ? ?= && || & | ( ) , f( // / . : - _ # ü 😀 {`.split(' '),
  ' ',
  '\n',
  ' = ',
  ' && ',
  '\u0000',
  '\ud800',
);

const comparison = fc.constantFrom(
  'a=1',
  `b.c ?~ 'x'`,
  `f(a, g('t')) != 2`,
  '(a=1||b=2)',
  '(((c>@now)))',
  '// c\nd<=-5',
);

const sensible = fc
  .array(fc.tuple(comparison, fc.constantFrom(' && ', '||', ' ', '')))
  .map((items) => items.flat().join(''));
const arbitrary = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.array(pieces, { maxLength: 60 }).map((all) => all.join('')),
  sensible,
);

test('whatever the text, it is understood or refused, after a number of looks linear in its length', (context) => {
  const seed = 20_261_120;
  context.diagnostic(`seed ${seed}`);
  fc.assert(fc.property(arbitrary, checkText), { numRuns: 20_000, seed });
  for (const text of ['(', '"', '\\', '/', '//', '=', '&', '1', 'a', 'f(', ' ', '-', `'\\`])
    checkText(text.repeat(1_000));
  for (const text of [`a='${'\\'.repeat(3_400)}'`, 'a=1 '.repeat(800), `f(${'1,'.repeat(1_700)}`])
    checkText(text);
});

function checkText(text: string): void {
  const counting = new CountingText(text);
  let tree: FilterTree | undefined;
  try {
    // A String is no string to the type checker, but has all that the scanner uses.
    tree = parseFilter(counting as unknown as string);
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'bad_request', String(error));
    assert.match(error.message, / at position \d+\.$/);
  }
  // At most one look ahead per character, twice for the classes of characters that are asked one after the other.
  assert.ok(counting.reads <= 4 * text.length + 4, `${counting.reads} looks at ${text.length} characters`);
  if (tree !== undefined) assert.equal(show(parseFilter(print(tree))), show(tree));
}

/** As `show`, in the language itself. */
function print(tree: FilterTree): string {
  if (tree.kind !== 'comparison') return `(${tree.items.map(print).join(tree.kind === 'and' ? '&&' : '||')})`;
  return `${printOperand(tree.left)}${tree.isAny ? '?' : ''}${tree.operator}${printOperand(tree.right)}`;
}

function printOperand(node: OperandNode): string {
  if (node.kind === 'text') return printText(node.value);
  if (node.kind === 'call') return `${node.name}(${node.arguments.map(printOperand).join(',')})`;
  return node.kind === 'number' ? node.value.toFixed(1) : node.name;
}
