import { Command, CommanderError } from 'commander';
import { version } from '../app.ts';
import { dataFlags, serverFlags } from '../config.ts';
import { exitCodeOf, exitCodes } from './exit-code.ts';
import { filesCommand } from './files-command.ts';
import { importCommand } from './import-command.ts';
import { instanceCommand } from './instance-command.ts';
import { moveCommand } from './move-command.ts';
import { nodesCommand } from './nodes-command.ts';
import { type CommandIo, operatorMessage } from './print.ts';
import { serve } from './serve.ts';
import { addFlags, configOf } from './flags.ts';
import { superuserCommand } from './superuser-command.ts';
import { versionCommand } from './version-command.ts';

/** Runs a command line; resolves to the exit code. Mistakes are one line on standard error. */
export async function runCommand(args: readonly string[], io: CommandIo): Promise<number> {
  const program = new Command('chancery')
    .description('Chancery keeps your records and sends signed word of every change.')
    .version(version)
    .showSuggestionAfterError(true)
    .configureHelp({ sortSubcommands: true });
  const serving = program.command('serve').description('run the server');
  addFlags(serving, [...dataFlags, ...serverFlags]);
  serving.action(async () => serve(configOf(serving, io)));
  program.addCommand(superuserCommand(io));
  program.addCommand(instanceCommand(io));
  program.addCommand(nodesCommand(io));
  program.addCommand(importCommand(io));
  program.addCommand(moveCommand(io));
  program.addCommand(filesCommand(io));
  program.addCommand(versionCommand(io));
  prepare(program, io);
  try {
    await program.parseAsync(upToUnknown(program, args), { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    io.stderr.write(`chancery: ${operatorMessage(error)}\n`);
    return exitCodeOf(error);
  }
}

/** Keeps commander from ending the process, which only main.ts may do, and makes one line of each mistake that it finds. */
function prepare(command: Command, io: CommandIo): void {
  command.exitOverride();
  command.configureOutput({
    writeOut: (text) => void io.stdout.write(text),
    writeErr: (text) => void io.stderr.write(text),
    outputError: (text, write) =>
      write(
        `${text
          .trimEnd()
          .replace(/^error: /, 'chancery: ')
          .replaceAll('\n', ' ')}\n`,
      ),
  });
  for (const child of command.commands) prepare(child, io);
}

/**
 * Returns the arguments, but nothing after the name of a command that does not exist. Commander would answer a `--help` after it, or a
 * `help` before it, with the help of something else.
 */
function upToUnknown(program: Command, args: readonly string[]): readonly string[] {
  let command = program;
  const path: string[] = [];
  for (const name of args) {
    if (name.startsWith('-') || command.commands.length === 0) break;
    if (name === 'help') continue;
    path.push(name);
    const found = command.commands.find((child) => child.name() === name);
    if (found === undefined) return path;
    command = found;
  }
  return args;
}
