import type { Command } from 'commander';
import { nearestName } from '../../fields/field-error.ts';
import { type CommandIo, note, printSoon } from './print.ts';

/** Keeps commander from ending the process, which only main.ts may do, and makes one line of each mistake that it finds. */
export function prepareCommand(command: Command, io: CommandIo): void {
  command.exitOverride();
  // What stands behind the name of a command is its own, and no option of the program.
  command.enablePositionalOptions();
  command.configureHelp({ subcommandTerm: usageOf });
  command.helpOption('-h, --help', 'show help');
  if (command.commands.length > 0) command.helpCommand('help [command]', 'show the help of a command');
  addHelpAll(command);
  command.configureOutput({
    writeOut: (text) => printSoon(io, text),
    writeErr: (text) => note(io, text),
    outputError: (text, write) =>
      write(
        `${withHint(text.trimEnd())
          .replace(/^error: /, 'chancery: ')
          .replaceAll('\n', ' ')}\n`,
      ),
  });
  for (const child of command.commands) prepareCommand(child, io);
}

/** Returns the name of a command with its arguments. That it has options goes without saying. */
function usageOf(command: Command): string {
  const names = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...names].join(' ');
}

/** Adds what was probably meant to a value that is none of its choices, as commander does for names. */
function withHint(text: string): string {
  const [, value, choices] = / '([^']*)' is invalid\. Allowed choices are (.*)\.$/.exec(text) ?? [];
  const nearest = value === undefined ? undefined : nearestName(value, choices?.split(', ') ?? []);
  return nearest === undefined ? text : `${text} (Did you mean ${nearest}?)`;
}

/**
 * Adds `--help-all`: the help of a command with the options that many commands share, or of a group of commands with all that is below it.
 * It answers before the arguments are checked, as `--help` does.
 */
function addHelpAll(command: Command): void {
  const isGroup = command.commands.length > 0;
  command.option('--help-all', isGroup ? 'show help with all commands below' : 'show help with all options');
  command.on('option:help-all', () => {
    for (const option of command.options) option.hidden = false;
    if (isGroup) command.addHelpText('after', () => `\nAll commands:\n${below(command).join('\n')}`);
    command.help();
  });
}

/** Returns a line for each command that does something, with its arguments and what it does. */
function below(command: Command): readonly string[] {
  return command.commands.flatMap((child) => {
    if (child.commands.length > 0) return below(child);
    // Its own help shows its options.
    const usage = child.createHelp().commandUsage(child).replace(' [options]', '');
    return [`  ${usage}\n      ${child.description()}`];
  });
}
