import { Command, CommanderError } from 'commander';
import { version } from '../../app.ts';
import { nearestName } from '../../fields/field-error.ts';
import { exitCodes } from '../terminal/command-error.ts';
import { exitCodeOf, operatorMessage } from '../terminal/exit-code.ts';
import { type CommandIo, note, printSoon } from '../terminal/print.ts';
import { serveCommand } from './serve-command.ts';

type MakeCommand = (io: CommandIo) => Command;

/** Every command by its name. Their files are loaded on demand: a server never needs them, and a command only its own. */
const commands: Readonly<Record<string, () => MakeCommand | Promise<MakeCommand>>> = {
  serve: () => serveCommand,
  superuser: async () => (await import('./superuser-command.ts')).superuserCommand,
  instance: async () => (await import('./instance-command.ts')).instanceCommand,
  operator: async () => (await import('./operator-command.ts')).operatorCommand,
  key: async () => (await import('./key-command.ts')).keyCommand,
  record: async () => (await import('./record-command.ts')).recordCommand,
  collection: async () => (await import('./collection-command.ts')).collectionCommand,
  schema: async () => (await import('./schema-command.ts')).schemaCommand,
  endpoint: async () => (await import('./endpoint-command.ts')).endpointCommand,
  portal: async () => (await import('./portal-command.ts')).portalCommand,
  delivery: async () => (await import('./delivery-command.ts')).deliveryCommand,
  event: async () => (await import('./event-command.ts')).eventCommand,
  logs: async () => (await import('./logs-command.ts')).logsCommand,
  completion: async () => (await import('./completion-command.ts')).completionCommand,
  openapi: async () => (await import('./openapi-command.ts')).openapiCommand,
  doctor: async () => (await import('./doctor-command.ts')).doctorCommand,
  login: async () => (await import('./login-command.ts')).loginCommand,
  logout: async () => (await import('./login-command.ts')).logoutCommand,
  config: async () => (await import('./config-command.ts')).configCommand,
  nodes: async () => (await import('./nodes-command.ts')).nodesCommand,
  backup: async () => (await import('./backup-command.ts')).backupCommand,
  export: async () => (await import('./export-command.ts')).exportCommand,
  import: async () => (await import('./import-command.ts')).importCommand,
  move: async () => (await import('./move-command.ts')).moveCommand,
  files: async () => (await import('./files-command.ts')).filesCommand,
  seed: async () => (await import('./seed-command.ts')).seedCommand,
  listen: async () => (await import('./listen-command.ts')).listenCommand,
  types: async () => (await import('./types-command.ts')).typesCommand,
  mcp: async () => (await import('./mcp-command.ts')).mcpCommand,
  verify: async () => (await import('./verify-command.ts')).verifyCommand,
  version: async () => (await import('./version-command.ts')).versionCommand,
};

/** Runs a command line; resolves to the exit code. Mistakes are one line on standard error. Without a command it runs the server. */
export async function runCommand(line: readonly string[], io: CommandIo): Promise<number> {
  const args = isServing(line) ? ['serve', ...line] : line;
  const program = new Command('chancery')
    .description('Chancery keeps your records and sends signed word of every change.')
    .version(version)
    .showSuggestionAfterError(true)
    .configureHelp({ sortSubcommands: true });
  const [name = ''] = args;
  // Completion is made from all of them.
  const isAlone = Object.hasOwn(commands, name) && name !== 'completion';
  const loaders = isAlone ? [commands[name]] : Object.values(commands);
  for (const load of loaders) if (load !== undefined) program.addCommand((await load())(io));
  prepare(program, io);
  try {
    await program.parseAsync(upToUnknown(program, args), { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    const message = operatorMessage(error);
    if (message !== '') note(io, `chancery: ${message}\n`);
    return exitCodeOf(error);
  }
}

/** True for a command line without a command, unless it asks what there is. */
function isServing([first]: readonly string[]): boolean {
  return (
    first === undefined || (first.startsWith('-') && !['-h', '--help', '-V', '--version'].includes(first))
  );
}

/** Keeps commander from ending the process, which only main.ts may do, and makes one line of each mistake that it finds. */
function prepare(command: Command, io: CommandIo): void {
  command.exitOverride();
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
  for (const child of command.commands) prepare(child, io);
}

/** Adds what was probably meant to a value that is none of its choices, as commander does for names. */
function withHint(text: string): string {
  const [, value, choices] = / '([^']*)' is invalid\. Allowed choices are (.*)\.$/.exec(text) ?? [];
  const nearest = value === undefined ? undefined : nearestName(value, choices?.split(', ') ?? []);
  return nearest === undefined ? text : `${text} (Did you mean ${nearest}?)`;
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
    const subcommand = command.commands.find((child) => child.name() === name);
    if (subcommand === undefined) return path;
    command = subcommand;
  }
  return args;
}
