import { resolveImport, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

interface Walk {
  readonly files: ReadonlyMap<string, SourceFile>;
  readonly finished: Set<string>;
  readonly path: string[];
  readonly violations: Violation[];
}

/** Reports every import that closes a cycle, with the cycle. Imports of types count as well. */
export function checkImportCycles(files: readonly SourceFile[]): readonly Violation[] {
  const inSource = files.filter((file) => /^(kit\/)?src\//.test(file.path));
  const walk: Walk = {
    files: new Map(inSource.map((file) => [file.path, file])),
    finished: new Set(),
    path: [],
    violations: [],
  };
  for (const file of inSource) visit(walk, file);
  return walk.violations;
}

function visit(walk: Walk, file: SourceFile): void {
  if (walk.finished.has(file.path)) return;
  walk.path.push(file.path);
  for (const { line, specifier } of file.imports) {
    const target = specifier === undefined ? undefined : resolveImport(file.path, specifier);
    const next = target === undefined ? undefined : walk.files.get(target);
    if (next === undefined) continue;
    const start = walk.path.indexOf(next.path);
    if (start < 0) {
      visit(walk, next);
      continue;
    }
    const message = [...walk.path.slice(start), next.path].join(' → ');
    walk.violations.push({ path: file.path, line, rule: 'cycle', message });
  }
  walk.path.pop();
  walk.finished.add(file.path);
}
