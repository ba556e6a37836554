import type { SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/** Where engines are told apart: in storage, and in the dialects and the functions of filters. */
const places = ['src/storage/', 'src/filters/functions/', 'src/filters/sqlite-', 'src/filters/postgres-'];

/** Refuses code that compares an engine's name, or chooses by it: `Names` and `Dialect` say what engines do differently. */
export function checkEngineBranches(files: readonly SourceFile[]): readonly Violation[] {
  const message = 'ask the names or their dialect what the engine does';
  return files
    .filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'))
    .filter(({ path }) => !places.some((place) => path.startsWith(place)))
    .flatMap(({ path, tokens }) =>
      tokens.flatMap(({ text, line }, index) => {
        if (text !== 'engine') return [];
        const textAt = (from: number, to: number): string =>
          tokens
            .slice(Math.max(0, index + from), index + to)
            .map((token) => token.text)
            .join('');
        const isBranch =
          /^(?:[=!]==|\]|\?(?!:)|\)\{)/.test(textAt(1, 4)) || /[=!]==(?:\w+\.)*$/.test(textAt(-7, 0));
        return isBranch ? [{ path, line, rule: 'engine-branch', message }] : [];
      }),
    );
}
