import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bundleExecutable } from './bundle.ts';
import { listLicences, readPackages } from './bundled-packages.ts';
import { listComponents } from './list-components.ts';
import { readCommit } from './read-commit.ts';
import { describePackage, root } from './root.ts';
import { run } from './run.ts';

/** The processors that an executable can be made for. */
export const processors = ['x64', 'arm64'] as const;
export type Processor = (typeof processors)[number];

/** A Node to put the service into. */
export interface Runtime {
  readonly processor: Processor;
  /** The package that it is in, below the root. */
  readonly folder: string;
}

/** Returns the Node for a processor that npm has installed, or the reason why no executable can be made of one. */
export function findRuntime(processor: Processor): Runtime | string {
  const name = `node-linux-${processor}`;
  const folder = `node_modules/${name}`;
  if (!existsSync(join(root, folder)))
    return `the package ${name} is not installed, as npm installs it on its own kind of machine only`;
  // The cast holds: npm installs no package without a version.
  const { version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const { node } = process.versions;
  // What it reads at its start differs between versions.
  return version === node
    ? { processor, folder }
    : `${name} is of version ${version}, and the Node that would build it of ${node}`;
}

export interface MadeExecutable {
  readonly path: string;
  readonly licences: string;
  readonly billOfMaterials: string;
}

/** Makes the executable in this folder. The same commit makes the same bytes, wherever and whenever. */
export async function makeExecutable(folder: string, runtime: Runtime): Promise<MadeExecutable> {
  const { name, version } = describePackage();
  const commit = readCommit();
  const bundled = await bundleExecutable({ version, commit: commit?.name ?? null, form: 'executable' });
  const path = join(folder, `${name}-linux-${runtime.processor}`);
  const parts = mkdtempSync(join(tmpdir(), 'chancery-executable-'));
  try {
    for (const [file, bytes] of bundled.files) {
      mkdirSync(dirname(join(parts, file)), { recursive: true });
      writeFileSync(join(parts, file), bytes);
    }
    writeFileSync(
      join(parts, 'config.json'),
      JSON.stringify(configOf(runtime, path, [...bundled.files.keys()])),
    );
    run(process.execPath, ['--build-sea', 'config.json'], { cwd: parts });
  } finally {
    rmSync(parts, { recursive: true });
  }
  const packages = readPackages([...bundled.folders, runtime.folder]);
  const [licences, billOfMaterials] = [`${path}.LICENSES.txt`, `${path}.cdx.json`];
  writeFileSync(licences, listLicences(packages));
  writeFileSync(billOfMaterials, listComponents({ commit, packages }));
  return { path, licences, billOfMaterials };
}

/** See https://nodejs.org/api/single-executable-applications.html. */
function configOf({ folder }: Runtime, output: string, files: readonly string[]): object {
  const main = 'executable.mjs';
  return {
    // Relative to the folder in which Node runs, as the path becomes part of the executable.
    main,
    mainFormat: 'module',
    executable: join(root, folder, 'bin', 'node'),
    output,
    disableExperimentalSEAWarning: true,
    // As main.ts sets it, but before the code is compiled.
    execArgv: ['--no-allocation-site-pretenuring'],
    // The threads and the files of the dashboard.
    assets: Object.fromEntries(files.filter((file) => file !== main).map((file) => [file, file])),
  };
}
