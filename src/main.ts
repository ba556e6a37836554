import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

process.on('uncaughtException', (error) => {
  // The state is unknown from here on: what is committed is safe, what is not was not acknowledged.
  process.stderr.write(`${error.stack ?? error.message}\n`);
  process.exit(1);
});

// Stripping the types of every module and compiling it is most of the work of a start: what Node made of a module once
// is kept beside the packages, by the module's content. Where that folder cannot be written, Node does it again.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));

// Imported after that line, since what is imported above it would be compiled before it.
const { runCli } = await import('./cli/cli.ts');

// Commands that have nothing more to do must not be kept alive by a handle that somebody forgot.
process.exit(await runCli(process.argv.slice(2)));
