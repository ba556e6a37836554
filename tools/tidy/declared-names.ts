import { isProduct, type SourceFile } from './source-file.ts';
import type { Token } from './tokenize.ts';
import type { Violation } from './violation.ts';

/** Participles that leave open what they are of: `known` may be a row, an entry of a cache or a name. */
const participles: ReadonlySet<string> = new Set(
  'asked chosen drawn found given gone heard held kept known made meant said seen shown sought taken told wanted'.split(
    ' ',
  ),
);
/** Members of answers, which clients read. */
const published: Readonly<Record<string, string>> = {
  'src/deliveries/endpoints/request-replay.ts': 'taken',
  'src/http/routes/jobs.ts': 'found',
  'src/http/routes/replays.ts': 'taken',
};
const declaring: ReadonlySet<string> = new Set(['const', 'let', 'var', 'function', 'readonly']);
/** What stands before the name of a parameter, of a member or of a variable in a pattern. */
const opening: ReadonlySet<string> = new Set(['(', ',', '{', ';', '|', '?']);
const closing: ReadonlySet<string> = new Set([':', ',', ')', '}', '=', ']', '?']);

/** A declared name of src/ is a noun, or a verb for a function: never a participle alone. */
export function checkDeclaredNames(files: readonly SourceFile[]): readonly Violation[] {
  return files
    .filter(({ path }) => isProduct(path))
    .flatMap(({ path, tokens }) =>
      tokens
        .filter((token, index) => participles.has(nameOf(token)) && isDeclared(tokens, index))
        .filter(({ text }) => published[path] !== text)
        .map(({ line, text }) => ({
          path,
          line,
          rule: 'declared-name',
          message: `${text} is a participle: name the thing`,
        })),
    );
}

function nameOf({ kind, text }: Token): string {
  return kind === 'word' ? text.replace(/^#/, '') : '';
}

function isDeclared(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.text ?? '';
  const after = tokens[index + 1]?.text ?? '';
  if (declaring.has(before)) return true;
  if (after === '=>') return true;
  const isLastParameter = after === ')' && tokens[index + 2]?.text === '=>';
  if (isLastParameter && (before === '(' || before === ',')) return true;
  // A parameter or a member with a type, or a member of an object that is made.
  if (after === ':' && opening.has(before)) return true;
  return isInPattern(tokens, index) && closing.has(after);
}

/** Whether the name is bound by `const { … }`, `const [ … ]` or a pattern among parameters. */
function isInPattern(tokens: readonly Token[], index: number): boolean {
  let depth = 0;
  for (let at = index - 1; at >= 0; at -= 1) {
    const { text } = tokens[at] ?? { text: '' };
    if (text === '}' || text === ']' || text === ')') depth += 1;
    else if (text === '{' || text === '[') {
      if (depth > 0) depth -= 1;
      else if (['const', 'let'].includes(tokens[at - 1]?.text ?? '')) return true;
    } else if (text === '(') {
      if (depth === 0) return false;
      depth -= 1;
    } else if (depth === 0 && (text === ';' || text === '=>' || text === '=')) return false;
  }
  return false;
}
