import { enableCompileCache, registerHooks } from 'node:module';
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// On SIGUSR1 Node opens its inspector, through which every user of this machine could run code in the process that holds the
// master key. A listener prevents that. It comes first, because an inspector that is already open stays open.
process.on('SIGUSR1', () => {});

process.on('uncaughtException', (error) => {
  // The state is unknown from here on: what is committed is safe, what is not was not acknowledged.
  process.stderr.write(`${error.stack ?? error.message}\n`);
  process.exit(1);
});

// Only the owner can read the files written here, even in a folder that other users can read.
process.umask(0o077);

// Where objects often survive a young-generation collection, V8 allocates later ones directly in the old generation, which only a
// full collection cleans. Under load requests are in flight at every collection, and such an object keeps its whole request alive
// (decision 15). Set before any module is loaded: Node's compile cache is valid only for the V8 flags it was made with.
setFlagsFromString('--no-allocation-site-pretenuring');

// Stripping the types of every module and compiling it is most of the work of a start, so Node caches the result beside the
// packages, by the module's content. Where that folder cannot be written, Node repeats the work. `npm start` also passes the
// folder to Node itself, for this file: just to strip its types, Node would load a 16 MB compiler. The executable has nothing to
// load, and what lies beside it is not ours.
if (!isSea()) enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));

void main();

// The import is dynamic, because a static one would be loaded before the lines above run. It is not awaited at the top of this file,
// because the launcher of the package, which older versions of Node have to understand, requires it (tools/build/chancery.cjs).
async function main(): Promise<void> {
  if (isSea() && process.send !== undefined && process.argv[2] === 'view-reader') {
    // src/base/thread.ts starts it.
    await import('./storage/sqlite/view-worker.ts');
    return;
  }
  const { runCommand } = await importQuickly(() => import('./cli/commands/run-command.ts'));
  // Exits explicitly: a forgotten handle must not keep a finished command alive.
  process.exit(await runCommand(process.argv.slice(2), process));
}

/**
 * Imports sources without a look at the disk for each of them. Our imports are relative paths with their extension, so they resolve
 * without it. Node would look up each of two thousand files, and whether it is a symbolic link: a fifth of the start.
 */
async function importQuickly<Module>(load: () => Promise<Module>): Promise<Module> {
  const ownImports = registerHooks({
    resolve: (specifier, context, nextResolve) =>
      specifier.startsWith('.') && specifier.endsWith('.ts')
        ? {
            url: new URL(specifier, context.parentURL).href,
            format: 'module-typescript',
            shortCircuit: true,
          }
        : nextResolve(specifier, context),
  });
  try {
    return await load();
  } finally {
    ownImports.deregister();
  }
}
