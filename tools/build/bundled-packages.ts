import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.ts';

/** A package whose code is in a bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** The texts of its licence and of the notices that go with it. */
  readonly texts: readonly string[];
}

/** Reads what is said of the packages in these folders, which are below the root. */
export function readPackages(folders: readonly string[]): readonly BundledPackage[] {
  return folders.map((path) => {
    const folder = join(root, path);
    // The cast holds: npm installs no package without name and version.
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly name: string;
      readonly version: string;
      readonly license?: string;
    };
    const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file));
    const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
    return { name, version, licence: license ?? 'see below', texts };
  });
}

/** Returns the licences of packages: nearly all of them ask for their text wherever their code goes. */
export function listLicences(packages: readonly BundledPackage[]): string {
  const parts = packages.map(
    ({ name, version, licence, texts }) => `${name} ${version} (${licence})\n\n${texts.join('\n\n')}\n`,
  );
  return ['Chancery contains code of these packages.\n', ...parts].join(`\n${'-'.repeat(72)}\n\n`);
}
