import { Command, CommanderError } from 'commander';
import { version } from '../../app.ts';
import { exitCodes } from '../terminal/command-error.ts';
import { exitCodeOf, operatorMessage } from '../terminal/exit-code.ts';
import { prepareCommand } from '../terminal/prepare-command.ts';
import { type CommandIo, note } from '../terminal/print.ts';
import { serveCommand } from './serve-command.ts';

type MakeCommand = (io: CommandIo) => Command;

/**
 * Every command by its name, in the groups of `chancery --help`. Their files are loaded on demand: a server never needs them, and a command
 * only its own.
 */
const groups: Readonly<Record<string, Readonly<Record<string, () => MakeCommand | Promise<MakeCommand>>>>> = {
  'The service:': {
    serve: () => serveCommand,
    login: async () => (await import('./login-command.ts')).loginCommand,
    logout: async () => (await import('./login-command.ts')).logoutCommand,
    whoami: async () => (await import('./whoami-command.ts')).whoamiCommand,
    open: async () => (await import('./open-command.ts')).openCommand,
    doctor: async () => (await import('./doctor-command.ts')).doctorCommand,
    config: async () => (await import('./config-command.ts')).configCommand,
    logs: async () => (await import('./logs-command.ts')).logsCommand,
  },
  'Records:': {
    record: async () => (await import('./record-command.ts')).recordCommand,
    collection: async () => (await import('./collection-command.ts')).collectionCommand,
    schema: async () => (await import('./schema-command.ts')).schemaCommand,
    files: async () => (await import('./files-command.ts')).filesCommand,
    seed: async () => (await import('./seed-command.ts')).seedCommand,
  },
  'Webhooks:': {
    endpoint: async () => (await import('./endpoint-command.ts')).endpointCommand,
    delivery: async () => (await import('./delivery-command.ts')).deliveryCommand,
    event: async () => (await import('./event-command.ts')).eventCommand,
    portal: async () => (await import('./portal-command.ts')).portalCommand,
    listen: async () => (await import('./listen-command.ts')).listenCommand,
    verify: async () => (await import('./verify-command.ts')).verifyCommand,
  },
  'Access:': {
    superuser: async () => (await import('./superuser-command.ts')).superuserCommand,
    key: async () => (await import('./key-command.ts')).keyCommand,
  },
  'Instances:': {
    instance: async () => (await import('./instance-command.ts')).instanceCommand,
    operator: async () => (await import('./operator-command.ts')).operatorCommand,
    backup: async () => (await import('./backup-command.ts')).backupCommand,
    export: async () => (await import('./export-command.ts')).exportCommand,
    import: async () => (await import('./import-command.ts')).importCommand,
    move: async () => (await import('./move-command.ts')).moveCommand,
    nodes: async () => (await import('./nodes-command.ts')).nodesCommand,
  },
  'Tools:': {
    types: async () => (await import('./types-command.ts')).typesCommand,
    openapi: async () => (await import('./openapi-command.ts')).openapiCommand,
    mcp: async () => (await import('./mcp-command.ts')).mcpCommand,
    completion: async () => (await import('./completion-command.ts')).completionCommand,
    version: async () => (await import('./version-command.ts')).versionCommand,
  },
};

/** Runs a command line; resolves to the exit code. Mistakes are one line on standard error. Without a command it runs the server. */
export async function runCommand(line: readonly string[], io: CommandIo): Promise<number> {
  const args = isServing(line) ? ['serve', ...line] : withHelpLast(line);
  const program = new Command('chancery')
    .description('Chancery stores records for many customers and sends a signed webhook for every change.')
    .version(version, '-V, --version', 'show the version')
    .showSuggestionAfterError(true);
  await addCommands(program, io, args[0] ?? '');
  prepareCommand(program, io);
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

const programFlags: readonly string[] = ['-h', '--help', '--help-all', '-V', '--version'];

/** True for a command line without a command, unless it asks what there is. */
function isServing([first]: readonly string[]): boolean {
  return first === undefined || (first.startsWith('-') && !programFlags.includes(first));
}

/** `help record list` is `record list --help`: commander itself would show the help of `record`. */
function withHelpLast(line: readonly string[]): readonly string[] {
  const [first, second] = line;
  return first === 'help' && second !== undefined && second !== 'help' ? [...line.slice(1), '--help'] : line;
}

/** Adds the command of this name alone, or all of them where there is none. Completion is made from all of them. */
async function addCommands(program: Command, io: CommandIo, name: string): Promise<void> {
  const names = Object.values(groups).flatMap((group) => Object.keys(group));
  const isAlone = names.includes(name) && name !== 'completion';
  for (const [heading, group] of Object.entries(groups)) {
    program.commandsGroup(heading);
    for (const [each, load] of Object.entries(group))
      if (!isAlone || each === name) program.addCommand((await load())(io));
  }
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
