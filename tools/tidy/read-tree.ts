import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { TextFile } from './source-file.ts';

/** Folders that are not ours, or not committed. */
const foreignFolders = new Set(['.git', 'node_modules', 'coverage', 'dist', 'data']);
const textEndings =
  /\.(tsx?|js|json|md|sql|html|css|yml|yaml|sh|txt)$|(^|\/)(\.npmrc|\.gitignore|LICENSE|\.ci\/[^/.]+)$/;

export function readTree(root: string): readonly TextFile[] {
  return listFiles(root, '')
    .filter((path) => textEndings.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

function listFiles(root: string, folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return foreignFolders.has(entry.name) ? [] : listFiles(root, path);
    return entry.isFile() ? [path] : [];
  });
}
