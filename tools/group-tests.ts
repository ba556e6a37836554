import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Of files that share a process: enough for loading the service to cost little, and few enough for all processors to end together. */
const sharingMax = 8;

export interface GroupOptions {
  readonly root: string;
  /** For what imports the files of a group, which is what node is given to run. */
  readonly folder: string;
  /** Whether a file may be in a process with others. */
  readonly isSharing: (file: string) => boolean;
}

/**
 * The files that node runs, each a process, in this order (it sorts by name): first those of test/ that have a process of their own,
 * among which are the longest, then groups of those that share one, then those of src/, which are short.
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

/** A hook outside of any `describe` would be one of all files of a group. */
function hasHooksOfFile(path: string): boolean {
  return /^(?:before|after)(?:Each)?\(/m.test(readFileSync(path, 'utf8'));
}

/** As even as they come. */
function chunksOf(files: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(files.length / sharingMax);
  return Array.from({ length: count }, (_, index) =>
    files.slice(Math.round((index * files.length) / count), Math.round(((index + 1) * files.length) / count)),
  );
}
