import { posix } from 'node:path';

import { findExports, type Export } from './find-exports.ts';
import { findImports, type Import } from './find-imports.ts';
import { tokenize, type Comment, type Token } from './tokenize.ts';

/** A file as the rules receive it: its path from the root of the repository, with forward slashes, and its text. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

export interface SourceFile extends TextFile {
  readonly tokens: readonly Token[];
  readonly comments: readonly Comment[];
  readonly imports: readonly Import[];
  readonly exports: readonly Export[];
}

export function sourceFile(file: TextFile): SourceFile {
  const { tokens, comments } = tokenize(file.text);
  return { ...file, tokens, comments, imports: findImports(tokens), exports: findExports(tokens) };
}

/** Files of the frameworks' examples are named and exported as the frameworks want it. */
export function isSource(path: string): boolean {
  return (
    /^(src|test|tools|bench|kit|examples(?!\/(next|sveltekit)\/)|dashboard)\/.*\.tsx?$/.test(path) &&
    !isGenerated(path)
  );
}

/** True for a file that a tool writes, whose form nobody chooses. */
function isGenerated(path: string): boolean {
  return path === 'dashboard/src/api/schema.ts';
}

/** True for the dashboard, which runs in browsers. */
export function isDashboard(path: string): boolean {
  return path.startsWith('dashboard/src/');
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}

/** True for what is shipped: everything in src/ except the tests beside their source. */
export function isProduct(path: string): boolean {
  return path.startsWith('src/') && !isTest(path);
}

/** True for the package for receivers, which is published on its own: everything in kit/src/ except the tests. */
export function isKit(path: string): boolean {
  return path.startsWith('kit/src/') && !isTest(path);
}

/** Returns the file that a relative specifier means; undefined for a package. */
export function resolveImport(from: string, specifier: string): string | undefined {
  return specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : undefined;
}
