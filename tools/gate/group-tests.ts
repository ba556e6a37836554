import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../build/root.ts';

/** Files per process: enough to spread the cost of loading what they import, few enough to keep all processors busy to the end. */
const sharingMax = 8;

/** Test files that run in one process. */
export interface TestGroup {
  /** `test/api/audit to test/api/batch`. */
  readonly name: string;
  /** The file that imports all of them. */
  readonly entry: string;
}

export interface GroupOptions {
  /** Folder for the entries. */
  readonly folder: string;
  /** True when a file may share a process with others. */
  readonly isSharing: (file: string) => boolean;
}

/** The folders whose tests start and kill processes, or build what is shipped: they take longest. */
const longest = [
  'test/shipping',
  'test/examples',
  'test/faults',
  'test/nodes',
  'test/engines',
  'test/parity',
  'test/process',
];

/** Groups test files by what may share a process. First come those that are known to take long, last those of src/, which are short. */
export function groupTests(files: readonly string[], options: GroupOptions): readonly TestGroup[] {
  const alone = files.filter((file) => !options.isSharing(file) || hasHooksOfFile(file));
  const sharing = files.filter((file) => !alone.includes(file));
  const groups = [...alone.map((file) => [file]), ...chunksOf(sharing)];
  mkdirSync(options.folder, { recursive: true });
  return groups
    .toSorted(([a = ''], [b = '']) => rankOf(a) - rankOf(b))
    .map((group, index) => {
      const entry = join(options.folder, `${index}.test.mjs`);
      writeFileSync(
        entry,
        group.map((file) => `import '${pathToFileURL(join(root, file)).href}';\n`).join(''),
      );
      const ends = [group[0], ...(group.length > 1 ? [group.at(-1)] : [])];
      return { name: ends.join(' to ').replaceAll('.test.ts', ''), entry };
    });
}

function rankOf(file: string): number {
  const rank = longest.findIndex((folder) => file.startsWith(folder));
  if (rank !== -1) return rank;
  return longest.length + (file.startsWith('test/') ? 0 : 1);
}

/** True for a file with hooks outside any `describe`, which in a group would apply to all of its files. */
function hasHooksOfFile(file: string): boolean {
  return /^(?:before|after)(?:Each)?\(/m.test(readFileSync(join(root, file), 'utf8'));
}

/** Splits files into groups of nearly equal size. */
function chunksOf(files: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(files.length / sharingMax);
  return Array.from({ length: count }, (_, index) =>
    files.slice(Math.round((index * files.length) / count), Math.round(((index + 1) * files.length) / count)),
  );
}
