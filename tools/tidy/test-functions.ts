import { isTest, type SourceFile } from './source-file.ts';
import type { Token } from './tokenize.ts';
import type { Violation } from './violation.ts';

const linesMax = 70;

/**
 * Limits named functions in tests to 70 lines. The linter does so everywhere else, but in tests it cannot tell functions
 * from the callback of `describe`, which holds a whole suite.
 */
export function checkTestFunctions(files: readonly SourceFile[]): readonly Violation[] {
  return files.filter((file) => isTest(file.path)).flatMap(checkFile);
}

function checkFile(file: SourceFile): readonly Violation[] {
  return file.tokens.flatMap((token, index) => {
    const name = functionName(file.tokens, index);
    if (name === undefined) return [];
    const lines = lastLine(file.tokens, index) - token.line + 1;
    const message = `${name} has ${lines} lines, at most ${linesMax} are allowed`;
    return lines > linesMax ? [{ path: file.path, line: token.line, rule: 'function-lines', message }] : [];
  });
}

/** `function name` or `function* name`; and `const name = (…) =>` or `= function`, both possibly async. */
function functionName(tokens: readonly Token[], index: number): string | undefined {
  if (tokens[index]?.text === 'function') {
    const name = tokens[index + (tokens[index + 1]?.text === '*' ? 2 : 1)];
    return name?.kind === 'word' ? name.text : undefined;
  }
  if (tokens[index]?.text !== 'const' || tokens[index + 2]?.text !== '=') return undefined;
  const value = index + (tokens[index + 3]?.text === 'async' ? 4 : 3);
  const isArrow = tokens[value]?.text === '(' && isArrowAfter(tokens, closing(tokens, value) + 1);
  return isArrow || tokens[value]?.text === 'function' ? tokens[index + 1]?.text : undefined;
}

function isArrowAfter(tokens: readonly Token[], index: number): boolean {
  if (tokens[index]?.text !== ':') return tokens[index]?.text === '=>';
  const arrow = tokens.findIndex(({ text }, position) => position > index && (text === '=>' || text === ';'));
  return tokens[arrow]?.text === '=>';
}

/** Returns the line of the brace that closes the body. The body's is the first brace after the parameters that opens no type. */
function lastLine(tokens: readonly Token[], start: number): number {
  const parameters = tokens.findIndex(({ text }, index) => index > start && text === '(');
  for (let index = closing(tokens, parameters) + 1; index < tokens.length; index += 1) {
    const { text, line } = tokens[index] ?? { text: ';', line: 0 };
    if (text === ';') return line;
    if (text !== '{') continue;
    const close = closing(tokens, index);
    if (!opensType(tokens[index - 1]?.text ?? '')) return tokens[close]?.line ?? 0;
    index = close;
  }
  return 0;
}

function opensType(before: string): boolean {
  return [':', '|', '&', '<', ',', 'is', 'extends'].includes(before);
}

function closing(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let index = open; index < tokens.length; index += 1) {
    const text = tokens[index]?.text;
    if (text === '(' || text === '[' || text === '{') depth += 1;
    if (text === ')' || text === ']' || text === '}') depth -= 1;
    if (depth === 0) return index;
  }
  return tokens.length;
}
