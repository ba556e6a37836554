import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions, type OnLoadResult, type Plugin } from 'esbuild';
import type { Build } from '../../src/base/build.ts';
import type { DashboardCoding } from '../../src/http/server/dashboard-files.ts';
import { makeDashboard } from './dashboard.ts';
import { packageFolders } from './package-folders.ts';
import { root } from './root.ts';

/** Files in which threads begin. Each is a bundle of its own: a thread that loaded the whole service would cost as much memory as it. */
const threads = [
  'src/secrets/bcrypt-worker.ts',
  'src/storage/sqlite/reader-worker.ts',
  'src/storage/sqlite/writer-worker.ts',
  'src/storage/sqlite/view-worker.ts',
  'src/sending/sender-worker.ts',
  'src/hosts/host-worker.ts',
];

/** What is not bundled. `sharp` has native parts, so whoever wants it installs it beside us; `pg` can use `pg-native`, which we never do. */
const external = ['sharp', 'pg-native'];

export interface Bundled {
  /** Names and contents of the files. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The folders of the packages whose code is in them, below the root. */
  readonly folders: readonly string[];
}

/**
 * Bundles the npm package: `chancery.js` has everything, for those who import it and for the command line; `main.js` prepares the process
 * for the command line and then loads that.
 */
export async function bundlePackage(made: Build): Promise<Bundled> {
  const common = optionsOf(made);
  const everything = `export { start } from './src/start.ts';\nexport { runCommand } from './src/cli/commands/run-command.ts';\n`;
  const parts = await Promise.all([
    bundle({ ...common, ...esm, stdin: { contents: everything, resolveDir: root }, outfile: 'chancery.js' }),
    bundle({ ...common, ...esm, entryPoints: ['src/main.ts'], outfile: 'main.js', plugins: [besideMain] }),
    ...threads.map((path) => bundle({ ...common, ...esm, entryPoints: [path], outfile: scriptOf(path) })),
  ]);
  return withDashboard(joinParts(parts));
}

/** Bundles the executable: `executable.mjs` has everything, and threads are CommonJS, which is what code without a file may be, compressed. */
export async function bundleExecutable(made: Build): Promise<Bundled> {
  // It is not compressed inside. Names stay, as they are what a report of an error says.
  const common = { ...optionsOf(made), minifyWhitespace: true, minifySyntax: true, lineLimit: 200 };
  const parts = await Promise.all([
    bundle({ ...common, ...esm, entryPoints: ['src/main.ts'], outfile: 'executable.mjs' }),
    ...threads.map((path) =>
      compressed({
        ...common,
        ...cjs,
        define: { ...common.define, 'import.meta.url': 'urlOfBundle' },
        entryPoints: [path],
        outfile: scriptOf(path),
      }),
    ),
  ]);
  // A megabyte less; who accepts gzip alone gets the plain text.
  return withDashboard(joinParts(parts), ['br']);
}

/** Adds the files of the dashboard, in a folder of their own. */
async function withDashboard(
  { files, folders }: Bundled,
  codings?: readonly DashboardCoding[],
): Promise<Bundled> {
  const dashboard = await makeDashboard(codings);
  const assets = [...dashboard.contents].map(([path, content]) => [`dashboard/${path}`, content] as const);
  return {
    files: new Map<string, Uint8Array>([...files, ...assets]),
    folders: [...new Set([...folders, ...dashboard.folders])].toSorted(),
  };
}

function scriptOf(path: string): string {
  return basename(path).replace(/\.ts$/, '.js');
}

const esm: BuildOptions = {
  format: 'esm',
  // Packages in CommonJS require modules of Node, which a module has to be given the means for.
  banner: {
    js: `import { createRequire as createRequireOfBundle } from 'node:module';\nconst require = createRequireOfBundle(import.meta.url);`,
  },
};

/** Code without a file has no address; the executable stands for it. */
const cjs: BuildOptions = {
  format: 'cjs',
  banner: { js: `const urlOfBundle = require('node:url').pathToFileURL(process.execPath).href;` },
};

function optionsOf(made: Build): BuildOptions {
  return {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node24.15',
    external,
    define: { chanceryBuild: JSON.stringify(made) },
    // Their texts are in a file of their own.
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
  };
}

interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly inputs: readonly string[];
}

async function bundle({ plugins = [], ...options }: BuildOptions): Promise<Part> {
  const {
    outputFiles = [],
    metafile,
    warnings,
  } = await build({ ...options, plugins: [...plugins, lazyParts] });
  const [warning] = warnings;
  if (warning !== undefined) throw new Error(`${warning.location?.file ?? 'the bundle'}: ${warning.text}`);
  const [file] = outputFiles;
  if (file === undefined) throw new Error('expected esbuild to make a file');
  return { name: basename(file.path), bytes: file.contents, inputs: Object.keys(metafile?.inputs ?? {}) };
}

async function compressed(options: BuildOptions): Promise<Part> {
  const { name, bytes, inputs } = await bundle(options);
  return { name: `${name}.gz`, bytes: gzipSync(bytes), inputs };
}

function joinParts(parts: readonly Part[]): Bundled {
  return {
    files: new Map(parts.map(({ name, bytes }) => [name, bytes])),
    folders: packageFolders(parts.flatMap(({ inputs }) => inputs)),
  };
}

const builtinNamespace = 'builtin';

/** Keeps what a server may never need from being loaded at its start. */
const lazyParts: Plugin = {
  name: 'lazy parts',
  setup: (bundler) => {
    // An import statement of a module of Node would be moved to the top of the bundle, whether or not its package is ever loaded, and
    // `import 'node:http'` reads each export: one loads the 15 MB of fetch. Required, it is loaded with the package that needs it.
    bundler.onResolve({ filter: /^(?:node:)?[a-z_]+(?:\/[a-z_]+)*$/ }, ({ path, kind, importer }) =>
      kind === 'import-statement' && isBuiltin(path) && importer.includes(`${sep}node_modules${sep}`)
        ? { path, namespace: builtinNamespace }
        : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: builtinNamespace }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
    // The sources require it by a function that bundlers do not know.
    bundler.onLoad({ filter: /[\\/]src[\\/]base[\\/]html-text\.ts$/ }, ({ path }) =>
      replaceIn(path, "createRequire(import.meta.url)('htmlparser2')", "require('htmlparser2')"),
    );
  },
};

/** Lets `main.js` load the commands from `chancery.js` beside it, and what only the executable needs from its own file. */
const besideMain: Plugin = {
  name: 'beside main',
  setup: (bundler) => {
    bundler.onResolve({ filter: /^\.\/cli\/commands\/run-command\.ts$/ }, () => ({
      path: './chancery.js',
      external: true,
    }));
    bundler.onResolve({ filter: /^\.\/storage\/sqlite\/view-worker\.ts$/ }, () => ({
      path: './view-worker.js',
      external: true,
    }));
  },
};

function replaceIn(path: string, from: string, to: string): OnLoadResult {
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`expected ${JSON.stringify(from)} in ${path}`);
  return { contents: text.replace(from, to), loader: 'ts' };
}
