import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { atEnd } from './at-end.ts';

/** Contents of files by path. */
export type Tree = Readonly<Record<string, string>>;

/** Writes a tree into a new folder, which is removed when the test ends, and returns the folder. */
export function temporaryTree(t: TestContext, tree: Tree): string {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-tree-'));
  atEnd(t, () => rmSync(folder, { recursive: true }));
  writeTree(folder, tree);
  return folder;
}

export function writeTree(folder: string, tree: Tree): void {
  for (const [path, text] of Object.entries(tree)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
