import { isKit, isProduct, type SourceFile } from './source-file.ts';
import type { Token } from './tokenize.ts';
import type { Violation } from './violation.ts';

/** An article and the like with a noun and more, the name of a file, or a value: what the subject of a sentence begins with. */
const subject = /^(?:(?:a|an|the|each|every|no|one|our) (?:\$\{|\S+ \S)|[a-z-]+\.ts \S|\$\{)/;

/**
 * The message of an assertion is read without its line, in a log: it is a sentence with a subject. “an empty rule has no condition”, not
 * “asks something”.
 */
export function checkAssertMessages(files: readonly SourceFile[]): readonly Violation[] {
  return files
    .filter(({ path }) => isProduct(path) || isKit(path))
    .flatMap(({ path, tokens }) =>
      tokens.flatMap((_, index) => {
        const message = isAssertion(tokens, index) ? lastArgument(tokens, index + 2) : undefined;
        if (message === undefined || isSentence(message)) return [];
        return [
          {
            path,
            line: message.line,
            rule: 'assert-message',
            message: `${message.text} begins with no subject`,
          },
        ];
      }),
    );
}

function isAssertion(tokens: readonly Token[], index: number): boolean {
  const [before, token, next] = [-1, 0, 1].map((offset) => tokens[index + offset]);
  return (
    token?.kind === 'word' && token.text === 'assert' && next?.text === '(' && before?.text !== 'function'
  );
}

function isSentence({ kind, text }: Token): boolean {
  // Another kind is a text that is made elsewhere.
  return (kind !== 'string' && kind !== 'template') || subject.test(text.slice(1));
}

/** Returns the first token of the last argument of the call whose arguments begin at `start`. */
function lastArgument(tokens: readonly Token[], start: number): Token | undefined {
  let last = tokens[start];
  let depth = 1;
  for (let index = start; depth > 0 && index < tokens.length; index += 1) {
    const { kind, text = '' } = tokens[index] ?? {};
    if (kind !== 'punctuation') continue;
    if ('([{'.includes(text)) depth += 1;
    if (')]}'.includes(text)) depth -= 1;
    const next = tokens[index + 1];
    if (text === ',' && depth === 1 && next?.text !== ')') last = next;
  }
  return last;
}
