import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bundlePackage } from './bundle.ts';
import { listLicences, readPackages } from './bundled-packages.ts';
import { listComponents } from './list-components.ts';
import { readCommit } from './read-commit.ts';
import { describePackage, root } from './root.ts';
import { run } from './run.ts';

/** How both packages are published: for everyone, with a statement of npm which workflow has made them of which commit. */
export const publishConfig = { access: 'public', provenance: true } as const;

export interface MadePackage {
  /** What `npm install` and `npm publish` take. */
  readonly archive: string;
  readonly billOfMaterials: string;
}

/** Makes the npm package in this folder, which may hold an older one. The same commit makes the same bytes, wherever and whenever. */
export async function makePackage(folder: string): Promise<MadePackage> {
  const description = describePackage();
  const commit = readCommit();
  const contents = join(folder, 'package');
  rmSync(contents, { recursive: true, force: true });
  mkdirSync(join(contents, 'dist'), { recursive: true });
  const { files, folders } = await bundlePackage({
    version: description.version,
    commit: commit?.name ?? null,
    form: 'package',
  });
  const packages = readPackages(folders);
  for (const [name, bytes] of files) {
    const path = join(contents, 'dist', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
  }
  copyFileSync(join(root, 'tools/build/chancery.cjs'), join(contents, 'dist/chancery.cjs'));
  chmodSync(join(contents, 'dist/chancery.cjs'), 0o755);
  writeFileSync(join(contents, 'dist/chancery.d.ts'), declarations());
  writeFileSync(join(contents, 'LICENSES.txt'), listLicences(packages));
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE'])
    copyFileSync(join(root, name), join(contents, name));
  writeFileSync(join(contents, 'package.json'), `${JSON.stringify(published(), null, 2)}\n`);
  run('npm', ['pack', contents, '--ignore-scripts', '--pack-destination', folder], { cwd: folder });
  const base = join(folder, `${description.name}-${description.version}`);
  const billOfMaterials = `${base}.cdx.json`;
  writeFileSync(billOfMaterials, listComponents({ commit, packages }));
  return { archive: `${base}.tgz`, billOfMaterials };
}

/** The package.json of what is published: what it needs is in it, so it depends on nothing. */
function published(): object {
  const { name, version, description, license, engines, peerDependencies, peerDependenciesMeta } =
    describePackage();
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    engines,
    bin: { chancery: 'dist/chancery.cjs' },
    exports: {
      '.': { types: './dist/chancery.d.ts', default: './dist/chancery.js' },
      './package.json': './package.json',
    },
    files: ['dist', 'CHANGELOG.md', 'LICENSES.txt'],
    ...(peerDependencies !== undefined && { peerDependencies, peerDependenciesMeta }),
    publishConfig,
  };
}

/** The types of what programs may import. The file must stand for itself, as nothing that it imports is in the package. */
function declarations(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-types-'));
  try {
    const only = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--noCheck', '--noResolve'];
    const options = [
      '--ignoreConfig',
      '--target',
      'esnext',
      '--module',
      'nodenext',
      '--allowImportingTsExtensions',
    ];
    run('tsc', [...only, ...options, '--outDir', folder, 'src/start.ts'], { cwd: root });
    const text = readFileSync(join(folder, 'start.d.ts'), 'utf8');
    if (/\bfrom '|\bimport\b/.test(text))
      throw new Error('expected the types of src/start.ts to need no others');
    return text;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
