import type { Token } from './tokenize.ts';

/** An import, a re-export, or an `import()` in code or in a type. All count alike: knowing a type is knowing the part. */
export interface Import {
  readonly line: number;
  /** Undefined for an `import()` whose argument is not a plain string. */
  readonly specifier: string | undefined;
}

export function findImports(tokens: readonly Token[]): readonly Import[] {
  const imports: Import[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== 'word' || tokens[index - 1]?.text === '.') continue;
    const found = token.text === 'import' ? readImport(tokens, index) : readReExport(tokens, index);
    if (found !== undefined) imports.push(found);
  }
  return imports;
}

function readImport(tokens: readonly Token[], index: number): Import | undefined {
  const token = tokens[index];
  const next = tokens[index + 1];
  if (token === undefined || next === undefined || next.text === '.' || next.text === ':') return undefined;
  if (next.text === '(') return { line: token.line, specifier: literal(tokens[index + 2]) };
  if (next.kind === 'string') return { line: token.line, specifier: literal(next) };
  return specifierAfterFrom(tokens, index + 1, token.line);
}

function readReExport(tokens: readonly Token[], index: number): Import | undefined {
  const token = tokens[index];
  if (token?.text !== 'export') return undefined;
  const start = tokens[index + 1]?.text === 'type' ? index + 2 : index + 1;
  const first = tokens[start]?.text;
  if (first === '*') return specifierAfterFrom(tokens, start, token.line);
  if (first !== '{') return undefined;
  const close = tokens.findIndex((candidate, position) => position > start && candidate.text === '}');
  return tokens[close + 1]?.text === 'from' ? specifierAfterFrom(tokens, close + 1, token.line) : undefined;
}

/** Returns the specifier after `from`. An import's clause holds only names, braces, commas and stars; with anything else it is none. */
function specifierAfterFrom(tokens: readonly Token[], start: number, line: number): Import | undefined {
  for (let index = start; index < tokens.length; index += 1) {
    const token = tokens[index];
    const next = tokens[index + 1];
    if (token?.text === 'from' && next?.kind === 'string') return { line, specifier: literal(next) };
    if (token?.kind === 'punctuation' && !'{},*'.includes(token.text)) return undefined;
  }
  return undefined;
}

function literal(token: Token | undefined): string | undefined {
  if (token?.kind === 'string') return token.text.slice(1, -1);
  const isWholeTemplate = token?.kind === 'template' && /^`[^`]*`$/s.test(token.text);
  return isWholeTemplate ? token.text.slice(1, -1) : undefined;
}
