import type { SourceFile } from './source-file.ts';
import type { Token } from './tokenize.ts';
import type { Violation } from './violation.ts';

/** Refuses syntax that the language allows. The linter refuses `any` and functions that are too long (.oxlintrc.json). */
export function checkBannedSyntax(files: readonly SourceFile[]): readonly Violation[] {
  return files.flatMap((file) =>
    file.tokens.flatMap((token, index) => {
      const found = refusal(file, index);
      return found === undefined ? [] : [{ path: file.path, line: token.line, ...found }];
    }),
  );
}

function refusal(file: SourceFile, index: number): Pick<Violation, 'rule' | 'message'> | undefined {
  const [before, token, next, second] = [-1, 0, 1, 2].map((offset) => file.tokens[index + offset]);
  if (token?.text === '@' && next?.kind === 'word') return { rule: 'decorator', message: 'no decorators' };
  if (token?.kind !== 'word' || before?.text === '.' || before?.text === '?.') return undefined;
  if (token.text === 'export' && next?.text === 'default') {
    return { rule: 'default-export', message: 'exports have names' };
  }
  if (token.text === 'enum' && next?.kind === 'word' && second?.text === '{') {
    return { rule: 'enum', message: 'a closed set is a union of literals' };
  }
  // `declare module 'fastify'` is no namespace: it extends the types of a library.
  const isNamespace = token.text === 'namespace' || (token.text === 'module' && next?.kind !== 'string');
  if (isNamespace && next?.kind === 'word' && (second?.text === '{' || second?.text === '.')) {
    return { rule: 'namespace', message: 'a file is the namespace' };
  }
  if (token.text === 'as' && isCast(file.tokens, index) && !isExplained(file, token.line)) {
    return { rule: 'cast', message: 'a cast needs a comment on its line or the line above' };
  }
  return undefined;
}

/** Tells `value as Type` from `as const`, from a renaming in import or export, and from an identifier named `as`. */
function isCast(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1];
  const next = tokens[index + 1];
  if (before === undefined || next === undefined || next.text === 'const') return false;
  if (before.kind === 'punctuation' && !')]}!>'.includes(before.text)) return false;
  const canBeginType =
    next.kind !== 'punctuation' || next.text === '{' || next.text === '[' || next.text === '(';
  return canBeginType && !isRenaming(tokens, index);
}

/** Looks at the enclosing bracket for a renaming: `{ a as b }` of an import or export, `* as x`, or `[Key in Keys as New]` of a type. */
function isRenaming(tokens: readonly Token[], index: number): boolean {
  if (tokens[index - 1]?.text === '*') return true;
  let depth = 0;
  for (let position = index - 1; position >= 0; position -= 1) {
    const text = tokens[position]?.text ?? '';
    if (')]}'.includes(text) && text !== '') depth += 1;
    if ('([{'.includes(text) && text !== '') depth -= 1;
    if (depth < 0) return opensRenaming(tokens, position);
  }
  return false;
}

function opensRenaming(tokens: readonly Token[], open: number): boolean {
  const text = tokens[open]?.text;
  if (text === '[') return tokens[open + 2]?.text === 'in';
  if (text !== '{') return false;
  const before = tokens.slice(Math.max(0, open - 4), open).map((token) => token.text);
  const last = before.at(-1) ?? '';
  if (last === 'import' || last === 'export') return true;
  if (last === 'type') return before.at(-2) === 'import' || before.at(-2) === 'export';
  return last === ',' && before.includes('import');
}

function isExplained(file: SourceFile, line: number): boolean {
  return file.comments.some(
    (comment) => comment.lastLine === line - 1 || (comment.line <= line && line <= comment.lastLine),
  );
}
