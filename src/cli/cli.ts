import { Command, CommanderError } from 'commander';
import { version } from '../app.ts';
import { dataFlags, serverFlags } from '../config.ts';
import { importCommand } from './import-command.ts';
import { instanceCommand } from './instance-command.ts';
import { moveCommand } from './move-command.ts';
import { nodesCommand } from './nodes-command.ts';
import { operatorMessage } from './operator-message.ts';
import { serve } from './serve.ts';
import { addFlags, flagsOf } from './flags.ts';
import { superuserCommand } from './superuser-command.ts';

/** Runs the command line; resolves to the exit code. Mistakes are one line on standard error. */
export async function runCli(args: readonly string[]): Promise<number> {
  const program = new Command('chancery')
    .description('Chancery keeps your records and sends signed word of every change.')
    .version(version)
    .showSuggestionAfterError(true)
    .configureHelp({ sortSubcommands: true });
  const serving = program.command('serve').description('run the server');
  addFlags(serving, [...dataFlags, ...serverFlags]);
  serving.action(async () => serve(flagsOf(serving)));
  program.addCommand(superuserCommand());
  program.addCommand(instanceCommand());
  program.addCommand(nodesCommand());
  program.addCommand(importCommand());
  program.addCommand(moveCommand());
  overrideExits(program);
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    process.stderr.write(`chancery: ${operatorMessage(error)}\n`);
    return 1;
  }
}

/** Keeps commander from ending the process, which only main.ts may do. */
function overrideExits(command: Command): void {
  command.exitOverride();
  for (const child of command.commands) overrideExits(child);
}
