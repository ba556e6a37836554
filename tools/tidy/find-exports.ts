import type { Token } from './tokenize.ts';

export interface Export {
  readonly line: number;
  readonly name: string;
}

const modifiers = new Set([
  'async',
  'declare',
  'abstract',
  'function',
  'class',
  'interface',
  'type',
  'const',
  'let',
  'var',
]);

/** Returns every name that a file itself exports, types included. Names from `export *` are not found. */
export function findExports(tokens: readonly Token[]): readonly Export[] {
  return tokens.flatMap((token, index) => {
    const isExport = token.kind === 'word' && token.text === 'export' && tokens[index - 1]?.text !== '.';
    return isExport ? exportsAt(tokens, index + 1) : [];
  });
}

function exportsAt(tokens: readonly Token[], start: number): readonly Export[] {
  let index = start;
  while (modifiers.has(tokens[index]?.text ?? '') || tokens[index]?.text === '*') index += 1;
  const token = tokens[index];
  if (token?.text === '{') return namesInBraces(tokens, index + 1);
  if (token?.kind !== 'word' || token.text === 'default' || token.text === 'from') return [];
  return [{ line: token.line, name: token.text }];
}

/** In both `{ a, b as c }` and `{ a: b }`, the exported name is the last one before the comma. */
function namesInBraces(tokens: readonly Token[], start: number): readonly Export[] {
  const names: Export[] = [];
  for (let index = start; index < tokens.length; index += 1) {
    const token = tokens[index];
    const next = tokens[index + 1]?.text;
    if (token === undefined || token.text === '}') break;
    if (token.kind === 'word' && (next === ',' || next === '}'))
      names.push({ line: token.line, name: token.text });
  }
  return names;
}
