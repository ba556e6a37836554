import { isProduct, resolveImport, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/** The first import of each folder that a folder imports, by both. */
type FolderImports = Map<string, Map<string, Pick<Violation, 'path' | 'line'>>>;

/**
 * Refuses circles among the folders of a room: of two folders one knows the other, or neither. The files that lie directly in the room are
 * one of its folders. Imports of types count as well.
 */
export function checkFolderCycles(files: readonly SourceFile[]): readonly Violation[] {
  const imports = folderImports(files.filter(({ path }) => isProduct(path)));
  return [...imports].flatMap(([from, targets]) =>
    [...targets].flatMap(([to, place]) => {
      const back = findWay(imports, to, from);
      if (back === undefined) return [];
      return [{ ...place, rule: 'folder-cycle', message: [from, ...back].join(' → ') }];
    }),
  );
}

function folderImports(files: readonly SourceFile[]): FolderImports {
  const all: FolderImports = new Map();
  for (const { path, imports } of files)
    for (const { line, specifier } of imports) {
      const target = specifier === undefined ? undefined : resolveImport(path, specifier);
      if (target === undefined || roomOf(target) !== roomOf(path)) continue;
      const [from, to] = [folderOf(path), folderOf(target)];
      if (from === to) continue;
      const targets = all.get(from) ?? new Map<string, Pick<Violation, 'path' | 'line'>>();
      all.set(from, targets);
      if (!targets.has(to)) targets.set(to, { path, line });
    }
  return all;
}

/** A folder of src/; undefined for a file that lies directly in it. */
function roomOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Returns a shortest way by imports, with both ends; undefined when there is none. */
function findWay(imports: FolderImports, from: string, to: string): readonly string[] | undefined {
  const ways = [[from]];
  const seen = new Set([from]);
  for (const way of ways) {
    const last = way.at(-1) ?? from;
    if (last === to) return way;
    for (const next of imports.get(last)?.keys() ?? [])
      if (!seen.has(next)) {
        seen.add(next);
        ways.push([...way, next]);
      }
  }
  return undefined;
}
