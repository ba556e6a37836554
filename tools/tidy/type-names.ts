import { isProduct, type SourceFile } from './source-file.ts';
import type { Token } from './tokenize.ts';
import type { Violation } from './violation.ts';

/** One word that ends as participles do; Need and Feed do not. */
const participle =
  /^(?:[A-Z][a-z]*[^e]ed|Broken|Built|Chosen|Done|Drawn|Found|Given|Gone|Held|Kept|Known|Left|Lost|Made|Met|Said|Seen|Sent|Shown|Sought|Taken|Told|Written)$/;
const declaring = new Set(['type', 'interface', 'class']);

/**
 * An exported type of src/ is the only one of its name, so that a search for it finds one thing, and its name is a noun: `Taken` leaves
 * open what was taken.
 */
export function checkTypeNames(files: readonly SourceFile[]): readonly Violation[] {
  return [...checkUnique(files), ...checkNouns(files)];
}

function checkNouns(files: readonly SourceFile[]): readonly Violation[] {
  return files
    .filter(({ path }) => isProduct(path))
    .flatMap((file) =>
      exportedTypes(file)
        .filter(({ text }) => participle.test(text))
        .map(({ line, text }) => ({
          path: file.path,
          line,
          rule: 'type-noun',
          message: `${text} is a participle: name the thing`,
        })),
    );
}

function checkUnique(files: readonly SourceFile[]): readonly Violation[] {
  const paths = new Map<string, string>();
  return files
    .filter(({ path }) => isProduct(path))
    .toSorted((a, b) => a.path.localeCompare(b.path, 'en'))
    .flatMap((file) => {
      const second = exportedTypes(file).filter(({ text }) => paths.has(text));
      for (const { text } of exportedTypes(file)) if (!paths.has(text)) paths.set(text, file.path);
      return second.map(({ line, text }) => ({
        path: file.path,
        line,
        rule: 'type-name',
        message: `${paths.get(text)} exports another type ${text}`,
      }));
    });
}

/** The names of types that a file declares and exports, once each: an interface may be declared in several parts. */
function exportedTypes({ tokens, exports }: SourceFile): readonly Token[] {
  const exported = new Set(exports.map(({ name }) => name));
  const names = new Map<string, Token>();
  for (const [index, token] of tokens.entries()) {
    const isDeclared = token.kind === 'word' && declaring.has(tokens[index - 1]?.text ?? '');
    if (isDeclared && exported.has(token.text) && !names.has(token.text)) names.set(token.text, token);
  }
  return [...names.values()];
}
