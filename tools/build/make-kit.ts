import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listComponents } from './list-components.ts';
import { type MadePackage, publishConfig } from './make-package.ts';
import { readCommit } from './read-commit.ts';
import { root } from './root.ts';
import { run } from './run.ts';

const kit = join(root, 'kit');

/** Makes the npm package `@chancery/webhooks` in this folder, which may hold an older one. */
export function makeKit(folder: string): MadePackage {
  const contents = join(folder, 'kit');
  rmSync(contents, { recursive: true, force: true });
  const { version } = writeKit(contents);
  run('npm', ['pack', contents, '--ignore-scripts', '--pack-destination', folder], { cwd: folder });
  const base = join(folder, `chancery-webhooks-${version}`);
  const billOfMaterials = `${base}.cdx.json`;
  writeFileSync(billOfMaterials, listComponents({ commit: readCommit(), packages: [], folder: contents }));
  return { archive: `${base}.tgz`, billOfMaterials };
}

/** Writes what `npm install` of the package would put into its folder. */
export function writeKit(contents: string): PublishedKit {
  mkdirSync(contents, { recursive: true });
  run('tsc', ['-p', join(kit, 'tsconfig.build.json'), '--outDir', join(contents, 'dist')], { cwd: root });
  for (const name of ['README.md', 'LICENSE']) copyFileSync(join(kit, name), join(contents, name));
  const description = published();
  writeFileSync(join(contents, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
  return description;
}

interface KitDescription {
  readonly private: boolean;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
}

interface PublishedKit {
  readonly version: string;
  readonly files: readonly string[];
  readonly publishConfig: typeof publishConfig;
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
}

/**
 * The package.json of what is published: it exports what the compiler made of the sources. The one in kit/ exports the sources
 * themselves, so that programs in a checkout can import the kit without a build.
 */
function published(): PublishedKit {
  const text = readFileSync(join(kit, 'package.json'), 'utf8');
  // The cast holds: the file is ours.
  const { private: _, exports, ...description } = JSON.parse(text) as KitDescription;
  const built: Record<string, { types: string; default: string }> = {};
  for (const [name, source] of Object.entries(exports)) {
    const path = source.replace('./src/', './dist/').replace(/\.ts$/, '');
    built[name] = { types: `${path}.d.ts`, default: `${path}.js` };
  }
  return { ...description, files: ['dist'], exports: built, publishConfig };
}
