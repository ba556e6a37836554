/**
 * Completes package-lock.json for every platform.
 *
 * npm writes the optional packages of platforms it could not resolve (the native halves of a linter, say) nowhere,
 * and `npm ci` then refuses the lockfile: "Missing: @oxlint/binding-darwin-arm64@ from lock file". This adds an
 * entry for each. Operating system, processor and C library are read from the package's name, which is how native
 * packages are named everywhere; a name that says neither stops the run, so that nothing wrong is guessed. The registry says the checksum of each,
 * by which `npm ci` recognises what it gets.
 *
 * Run it after every change of dependencies: `npm install --package-lock-only && npm run fix-lock`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

interface LockEntry {
  readonly version?: string;
  readonly resolved?: string;
  /** True for a folder of this repository, which has no checksum. */
  readonly link?: boolean;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly os?: readonly string[] | string;
  readonly cpu?: readonly string[] | string;
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  packages: Record<string, LockEntry>;
}

const operatingSystems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'x64'];
const exactVersion = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

const lockPath = new URL('../package-lock.json', import.meta.url);
// The cast holds: npm alone writes the lockfile, and version 3 has this shape.
const lock = JSON.parse(readFileSync(lockPath, 'utf8')) as Lock;
const added = addMissing(lock);
const summed = addChecksums(lock);
removeHosts(lock);
lock.packages = sortByPath(lock.packages);
writeFileSync(lockPath, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} platform packages and ${summed} checksums added to package-lock.json`);

function addMissing(lock: Lock): number {
  let added = 0;
  for (const [path, owner] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
      if (isLocked(lock, path, name)) continue;
      lock.packages[`node_modules/${name}`] = missingEntry(name, version, owner);
      added += 1;
    }
  }
  return added;
}

/** Looks for a package as Node does: beside the package that uses it, then in every folder above. */
function isLocked(lock: Lock, path: string, name: string): boolean {
  let folder = path;
  for (;;) {
    const candidate = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (candidate in lock.packages) return true;
    if (folder === '') return false;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')));
  }
}

function missingEntry(name: string, version: string, owner: LockEntry): LockEntry {
  if (!exactVersion.test(version)) {
    throw new Error(
      `expected an exact version for ${name}, found "${version}": refresh the lockfile with npm`,
    );
  }
  const words = name.split(/[/-]/);
  const os = words.filter((word) => operatingSystems.includes(word));
  const cpu = words.filter((word) => processors.includes(word));
  if (os.length !== 1 || cpu.length !== 1) {
    throw new Error(`expected one operating system and one processor in the package name ${name}`);
  }
  const libc = libcOf(words);
  return {
    version,
    cpu,
    ...(owner.dev === true ? { dev: true } : {}),
    ...(libc === undefined ? {} : { libc: [libc] }),
    optional: true,
    os,
  };
}

/** Asks the registry for the checksum of each package that has none. */
function addChecksums(lock: Lock): number {
  let added = 0;
  for (const [path, entry] of Object.entries(lock.packages)) {
    const [, name] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name === undefined || entry.link === true || entry.integrity !== undefined) continue;
    const { version = '', ...rest } = entry;
    const view = ['view', `${name}@${version}`, 'dist.integrity'];
    const integrity = execFileSync('npm', view, { encoding: 'utf8' }).trim();
    if (!/^sha512-[\w+/]+=*$/.test(integrity))
      throw new Error(`expected a checksum of ${name}@${version}, found "${integrity}"`);
    // Where npm itself writes it.
    lock.packages[path] = { version, integrity, ...rest };
    added += 1;
  }
  return added;
}

function libcOf(words: readonly string[]): string | undefined {
  if (!words.includes('linux')) return undefined;
  if (words.some((word) => word.startsWith('musl'))) return 'musl';
  return words.some((word) => word.startsWith('gnu')) ? 'glibc' : undefined;
}

/** Removes the registry of each package, which every installation chooses itself. The checksums stay. */
function removeHosts(lock: Lock): void {
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!entry.resolved?.startsWith('http')) continue;
    const { resolved: _, ...rest } = entry;
    lock.packages[path] = rest;
  }
}

function sortByPath(packages: Lock['packages']): Lock['packages'] {
  return Object.fromEntries(Object.entries(packages).toSorted(([a], [b]) => a.localeCompare(b, 'en')));
}
