import { Argument, Command } from 'commander';
import { assert } from '../../base/assert.ts';
import { allOptions } from '../../config/config-flags.ts';
import {
  completionScript,
  type CompletedCommand,
  type CompletedOption,
  type Shell,
  shells,
} from '../terminal/completion-script.ts';
import { type CommandIo, print } from '../terminal/print.ts';

/** `completion` */
export function completionCommand(io: CommandIo): Command {
  const command = new Command('completion').description('write a script for shell completion');
  command.addArgument(new Argument('<shell>', 'which shell').choices(shells));
  command.action(async (shell: Shell) => {
    const program = command.parent;
    assert(program !== null, 'a command is run as one of a program');
    await print(io, completionScript(shell, flatten(program, '')));
  });
  return command;
}

/** Returns a command and all below it, each with its path: `/record/list`. */
function flatten(command: Command, path: string): readonly CompletedCommand[] {
  const children = command.commands.toSorted((one, other) => (one.name() < other.name() ? -1 : 1));
  const own = {
    path,
    children: children.map((child) => ({ name: child.name(), description: child.description() })),
    options: command.options.map(toOption),
  };
  return [own, ...children.flatMap((child) => flatten(child, `${path}/${child.name()}`))];
}

function toOption({ long, flags, description, argChoices }: Command['options'][number]): CompletedOption {
  const [, value] = /<(.*)>/.exec(flags) ?? [];
  return {
    flag: long ?? '',
    // The rest is for the help, which has room for it.
    description: description.replace(/ \(env: CHANCERY_.*\)$/, ''),
    kind: kindOf(value),
    choices: argChoices ?? allOptions.find(({ name }) => long === `--${name}`)?.choices ?? [],
  };
}

function kindOf(value: string | undefined): CompletedOption['kind'] {
  if (value === undefined) return 'switch';
  if (value === 'DIR') return 'folder';
  return value.startsWith('FILE') ? 'file' : 'text';
}
