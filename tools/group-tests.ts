import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Files per process: enough to spread the cost of loading the service, few enough to keep all processors busy to the end. */
const sharingMax = 8;

export interface GroupOptions {
  readonly root: string;
  /** Folder for the generated files that import the files of a group. Node runs those. */
  readonly folder: string;
  /** True when a file may share a process with others. */
  readonly isSharing: (file: string) => boolean;
}

/**
 * Writes the files that Node runs, each in a process, and returns their paths. Node runs them by name, so names give the order: first
 * files of test/ with a process of their own, which include the longest, then groups, then files of src/, which are short.
 */
export function groupTests(
  files: readonly string[],
  { root, folder, isSharing }: GroupOptions,
): readonly string[] {
  const alone = files.filter((file) => !isSharing(file) || hasHooksOfFile(join(root, file)));
  const sharing = files.filter((file) => !alone.includes(file));
  const isLong = (file: string): boolean => file.startsWith('test/');
  const groups = [
    ...alone.filter(isLong).map((file) => [file]),
    ...chunksOf(sharing),
    ...alone.filter((file) => !isLong(file)).map((file) => [file]),
  ];
  mkdirSync(folder, { recursive: true });
  return groups.map((group, index) => {
    const number = String(index + 1).padStart(3, '0');
    const name = [group[0], ...(group.length > 1 ? ['to', group.at(-1)] : [])].join('-').replaceAll('/', '-');
    const path = join(folder, `${number}-${name.replaceAll('.test.ts', '')}.test.mjs`);
    writeFileSync(path, group.map((file) => `import '${pathToFileURL(join(root, file)).href}';\n`).join(''));
    return path;
  });
}

/** True for a file with hooks outside any `describe`, which in a group would apply to all of its files. */
function hasHooksOfFile(path: string): boolean {
  return /^(?:before|after)(?:Each)?\(/m.test(readFileSync(path, 'utf8'));
}

/** Splits files into groups of nearly equal size. */
function chunksOf(files: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(files.length / sharingMax);
  return Array.from({ length: count }, (_, index) =>
    files.slice(Math.round((index * files.length) / count), Math.round(((index + 1) * files.length) / count)),
  );
}
