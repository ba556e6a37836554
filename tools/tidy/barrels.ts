import type { SourceFile } from './source-file.ts';
import type { Token } from './tokenize.ts';
import type { Violation } from './violation.ts';

/** Refuses index.ts, and files that only re-export: imports name the file that they mean. */
export function checkBarrels(files: readonly SourceFile[]): readonly Violation[] {
  return files.flatMap((file) => {
    const message = refusal(file);
    return message === undefined ? [] : [{ path: file.path, line: 1, rule: 'barrel', message }];
  });
}

function refusal(file: SourceFile): string | undefined {
  if (/(^|\/)index\.ts$/.test(file.path)) return 'index.ts is banned: import the file you mean';
  return handsOnOnly(file.tokens) ? 'this file only re-exports: import the file you mean' : undefined;
}

/** True if every statement is an import, or an export of names in braces or of everything. */
function handsOnOnly(tokens: readonly Token[]): boolean {
  let exported = false;
  let index = 0;
  while (index < tokens.length) {
    const first = tokens[index]?.text;
    const second = tokens[index + (tokens[index + 1]?.text === 'type' ? 2 : 1)]?.text;
    const isExport = first === 'export' && (second === '{' || second === '*');
    if (first !== 'import' && first !== ';' && !isExport) return false;
    exported ||= isExport;
    index = first === ';' ? index + 1 : statementEnd(tokens, index);
  }
  return exported;
}

function statementEnd(tokens: readonly Token[], start: number): number {
  const end = tokens.findIndex(
    ({ text }, index) => index > start && (text === ';' || text === 'import' || text === 'export'),
  );
  return end < 0 ? tokens.length : end;
}
