import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface PackageDescription {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** Returns our own package.json, or that of another package of ours. */
export function describePackage(folder = root): PackageDescription {
  // The cast holds: npm refuses a package.json without a name and a version, and the others are ours.
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageDescription;
}
