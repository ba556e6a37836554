import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bundleExecutable } from './bundle.ts';
import { type BundledPackage, listLicences, readPackages } from './bundled-packages.ts';
import { listComponents } from './list-components.ts';
import { readCommit } from './read-commit.ts';
import { describePackage, root } from './root.ts';
import { run } from './run.ts';

/** The processors that an executable can be made for. */
export const processors = ['x64', 'arm64'] as const;
export type Processor = (typeof processors)[number];

/** A Node to put the service into. */
export interface Runtime {
  /** For what machines, as it ends the name of the executable: `linux-x64`. */
  readonly system: string;
  readonly path: string;
  /** For the licences and the bill of materials. */
  readonly content: BundledPackage;
}

/** Returns the Node for a processor that npm has installed, or the reason why no executable can be made of one. */
export function findRuntime(processor: Processor): Runtime | string {
  const name = `node-linux-${processor}`;
  const folder = `node_modules/${name}`;
  if (!existsSync(join(root, folder)))
    return `its Node is not installed here, and npm run build:executable -- ${processor} fetches it`;
  const [content] = readPackages([folder]);
  assert(content !== undefined, 'one package is read of one folder');
  const { node } = process.versions;
  // What it reads at its start differs between versions.
  return content.version === node
    ? { system: `linux-${processor}`, path: join(root, folder, 'bin', 'node'), content }
    : `${name} is of version ${content.version}, and the Node that would build it of ${node}`;
}

/** Returns the Node that runs this, for systems whose Node npm has not: macOS and Windows. It lies as its archive was unpacked. */
export function runningRuntime(): Runtime {
  const bin = dirname(process.execPath);
  const licence = [join(bin, '..', 'LICENSE'), join(bin, 'LICENSE')].find((path) => existsSync(path));
  if (licence === undefined)
    throw new Error(`${bin} has no licence of Node: unpack an archive of nodejs.org.`);
  const content = {
    name: 'node',
    version: process.versions.node,
    licence: 'see below',
    texts: [readFileSync(licence, 'utf8')],
  };
  return { system: `${process.platform}-${process.arch}`, path: process.execPath, content };
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
  const extension = runtime.system.startsWith('win32') ? '.exe' : '';
  const path = join(folder, `${name}-${runtime.system}${extension}`);
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
  const packages = [...readPackages(bundled.folders), runtime.content];
  const [licences, billOfMaterials] = [`${path}.LICENSES.txt`, `${path}.cdx.json`];
  writeFileSync(licences, listLicences(packages));
  writeFileSync(billOfMaterials, listComponents({ commit, packages }));
  return { path, licences, billOfMaterials };
}

/** See https://nodejs.org/api/single-executable-applications.html. */
function configOf({ path: executable }: Runtime, output: string, files: readonly string[]): object {
  const main = 'executable.mjs';
  return {
    // Relative to the folder in which Node runs, as the path becomes part of the executable.
    main,
    mainFormat: 'module',
    executable,
    output,
    disableExperimentalSEAWarning: true,
    // As main.ts sets it, but before the code is compiled.
    execArgv: ['--no-allocation-site-pretenuring'],
    // The threads and the files of the dashboard.
    assets: Object.fromEntries(files.filter((file) => file !== main).map((file) => [file, file])),
  };
}
