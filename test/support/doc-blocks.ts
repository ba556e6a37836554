import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../tools/build/root.ts';

/** A fenced block of a page. */
export interface DocBlock {
  readonly page: string;
  /** Of its first fence, counted from 1. */
  readonly line: number;
  /** What stands behind the fence; empty for none. */
  readonly language: string;
  readonly text: string;
}

/** Returns the blocks of all pages that somebody may follow. Decisions and the changelog tell of what was. */
export function readDocBlocks(): readonly DocBlock[] {
  const pages = ['*.md', 'docs/*.md', 'docs/verify/*.md', 'kit/*.md', 'examples/**/README.md'];
  return globSync(pages, { cwd: root, exclude: ['**/node_modules/**', 'CHANGELOG.md'] })
    .toSorted()
    .flatMap((page) => blocksOf(page, readFileSync(join(root, page), 'utf8')));
}

function blocksOf(page: string, text: string): readonly DocBlock[] {
  return [...text.matchAll(/^( *)```([^\n]*)\n(.*?)^ *```$/gms)].map(
    ({ index, 1: indent = '', 2: language = '', 3: block = '' }) => ({
      page,
      line: text.slice(0, index).split('\n').length,
      language,
      text: block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );
}

export function placeOf({ page, line, language }: DocBlock): string {
  return `${page}:${line} (${language === '' ? 'no language' : language})`;
}
