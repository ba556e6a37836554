import { isDashboard, resolveImport, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/** The rooms of dashboard/src in the order in which they may import each other: those before them, and themselves. */
const rooms: readonly string[] = ['api', 'browser', 'parts', 'screens', 'app', 'main.tsx'];

/**
 * Keeps the dashboard to itself: it is a program of its own that knows the service by its public API only, so it imports nothing of the
 * rest of the repository, and the product nothing of it. Its rooms keep their order, and no screen knows another.
 */
export function checkDashboardImports(files: readonly SourceFile[]): readonly Violation[] {
  return files.flatMap(({ path, imports }) =>
    imports.flatMap(({ line, specifier }) => {
      const message = specifier === undefined ? undefined : refusal(path, specifier);
      return message === undefined ? [] : [{ path, line, rule: 'dashboard-import', message }];
    }),
  );
}

function refusal(path: string, specifier: string): string | undefined {
  const target = resolveImport(path, specifier);
  if (!isDashboard(path)) {
    const isInside = target !== undefined && target.startsWith('dashboard/');
    return isInside ? 'the dashboard is imported by nobody: it is built and served' : undefined;
  }
  if (target === undefined)
    return specifier.startsWith('node:')
      ? 'the dashboard runs in browsers, which have no modules of Node'
      : undefined;
  if (!isDashboard(target)) return 'the dashboard imports nothing but its own files and packages';
  const [from, to] = [roomOf(path), roomOf(target)];
  if (rooms.indexOf(to) > rooms.indexOf(from)) return `${from} stands before ${to}`;
  const isOtherScreen = from === 'screens' && to === 'screens' && screenOf(path) !== screenOf(target);
  return isOtherScreen ? 'no screen imports another: what both need is a part' : undefined;
}

function roomOf(path: string): string {
  return path.split('/')[2] ?? '';
}

function screenOf(path: string): string {
  return path.split('/')[3] ?? '';
}
