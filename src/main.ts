import { runCli } from './cli/cli.ts';

process.on('uncaughtException', (error) => {
  // The state is unknown from here on: what is committed is safe, what is not was not acknowledged.
  process.stderr.write(`${error.stack ?? error.message}\n`);
  process.exit(1);
});

// Commands that have nothing more to do must not be kept alive by a handle that somebody forgot.
process.exit(await runCli(process.argv.slice(2)));
