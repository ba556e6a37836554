import { Command } from 'commander';
import type { JsonObject } from '../../base/json.ts';
import { readClient } from '../../config/client-config.ts';
import { findValue, readConfig, type Sources } from '../../config/config.ts';
import { allOptions, type FlagDefinition, keyOption, variableOf } from '../../config/config-flags.ts';
import { addFlags, flagsOf, isSet, sourcesOf } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';
import { showList } from '../terminal/show.ts';

/** `config list` */
export function configCommand(io: CommandIo): Command {
  const command = new Command('config').description('show the configuration of this machine');
  const list = command.command('list').description('show every option, its value and its source');
  list.option('--json', 'print JSON');
  list.optionsGroup('As for other commands:');
  addFlags(
    list,
    allOptions.filter(({ name }) => name !== keyOption.name),
  );
  list.action(async () => {
    const sources = sourcesOf(flagsOf(list), io);
    const isJson = isSet(list, 'json');
    const items = allOptions.map((option) => itemOf(sources, option));
    await showList(io, items, { columns: isJson ? [] : ['name', 'value', 'from'], isJson });
    // After they are shown: who asks may be looking for the value that is wrong.
    readConfig(sources.flags, sources.environment, sources.file);
    readClient(sources.flags, sources.environment, sources.file);
  });
  return command;
}

/** What stands for a secret. Its length would tell something of it. */
const hidden = '(hidden)';

function itemOf(sources: Sources, option: FlagDefinition): JsonObject {
  const { name, description, isSecret = false } = option;
  const setting = findValue(sources, name);
  const value = setting === undefined ? '' : isSecret ? hidden : setting.text;
  return {
    name,
    flag: option === keyOption ? null : `--${name}`,
    variable: variableOf(name),
    value: setting === undefined ? null : value,
    source: setting?.source ?? null,
    from: fromText(sources, name, setting?.source),
    description,
  };
}

function fromText({ file }: Sources, name: string, source: string | undefined): string {
  switch (source) {
    case undefined:
      return '';
    case 'flag':
      return `--${name}`;
    case 'environment':
      return variableOf(name);
    case 'file':
      return file?.path ?? '';
    default:
      return source;
  }
}
