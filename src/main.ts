import { enableCompileCache, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Node would open its inspector, through which every user of this machine could run code in the process that holds the master
// key. A listener takes the signal from it; first of all, as what was opened stays open.
process.on('SIGUSR1', () => {});

process.on('uncaughtException', (error) => {
  // The state is unknown from here on: what is committed is safe, what is not was not acknowledged.
  process.stderr.write(`${error.stack ?? error.message}\n`);
  process.exit(1);
});

// What is written here is its owner's alone, also in a folder that others may look into.
process.umask(0o077);

// Where objects have often outlived a collection, V8 makes the next ones among the old, of which only a full collection takes away any.
// In a server under load requests are in flight at every collection, and such an object keeps its whole request (decision 15).
// Before anything is loaded: what Node keeps of compiled modules is for the flags that are set.
setFlagsFromString('--no-allocation-site-pretenuring');

// Stripping the types of every module and compiling it is most of the work of a start: what Node made of a module once
// is kept beside the packages, by the module's content. Where that folder cannot be written, Node does it again. `npm start`
// names the same folder to Node itself, for this file: to strip its types alone, Node would load 16 MB of a compiler.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));

// Our imports name files, beside themselves and with their ending: where they lead is told by the names. Node would ask the
// disk what stands there, and whether it is a link, for each of two thousand: a fifth of the start.
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

// Imported after these lines, since what is imported above them would be loaded before them.
const { runCli } = await import('./cli/cli.ts');
ownImports.deregister();

// Commands that have nothing more to do must not be kept alive by a handle that somebody forgot.
process.exit(await runCli(process.argv.slice(2)));
