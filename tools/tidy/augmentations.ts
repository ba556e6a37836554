import { isProduct, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/**
 * What we add to the types of a package holds in the whole program. It stands in one file for each package, or nobody could see what
 * has been added.
 */
export function checkAugmentations(files: readonly SourceFile[]): readonly Violation[] {
  const paths = new Map<string, string>();
  return files
    .filter(({ path }) => isProduct(path))
    .flatMap(({ path, tokens }) =>
      tokens.flatMap((token, index) => {
        const isAugmentation = tokens[index - 1]?.text === 'module' && tokens[index - 2]?.text === 'declare';
        if (token.kind !== 'string' || !isAugmentation) return [];
        const first = paths.get(token.text);
        if (first === undefined) paths.set(token.text, path);
        if (first === undefined || first === path) return [];
        const message = `${first} extends the types of ${token.text} already`;
        return [{ path, line: token.line, rule: 'augmentation', message }];
      }),
    );
}
