import type { TextFile } from './source-file.ts';
import type { Violation } from './violation.ts';

interface TextRule {
  readonly rule: string;
  readonly pattern: RegExp;
  readonly message: string;
  /** The only file it concerns; every file if absent. */
  readonly path?: string;
}

const textRules: readonly TextRule[] = [
  {
    rule: 'machine-path',
    pattern: /(?<![\w.~}/-])\/(?:work|root|tmp)\//,
    message: 'no paths of one machine: take a path from the configuration or from os.tmpdir()',
  },
  {
    rule: 'registry-host',
    pattern: /\b(?:registry\.(?:npmjs|yarnpkg|npmmirror)|npm\.pkg\.github|npm\.jsr)\./,
    message: 'where packages come from is the affair of whoever installs them',
  },
  {
    rule: 'registry-host',
    pattern: /^\s*"resolved": "http/,
    message: 'the lockfile names no host: run npm run fix-lock',
    path: 'package-lock.json',
  },
];

/** Rules about any text of the tree, code or not. */
export function checkPlainText(files: readonly TextFile[]): readonly Violation[] {
  return files.flatMap((file) => {
    const rules = textRules.filter(({ path }) => path === undefined || path === file.path);
    return file.text
      .split('\n')
      .flatMap((text, index) =>
        rules
          .filter(({ pattern }) => pattern.test(text))
          .map(({ rule, message }) => ({ path: file.path, line: index + 1, rule, message })),
      );
  });
}
