import { Command, Option } from 'commander';
import { toTimestamp } from '../../base/timestamp.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { JsonObject } from '../../base/json.ts';
import { itemsOf } from '../api/api.ts';
import { addInstanceFlags, instancePath } from '../api/instance-path.ts';
import { withOperatorApi } from '../api/with-api.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import { type CommandIo, note } from '../terminal/print.ts';
import { type Column, showList } from '../terminal/show.ts';

const counts = [
  'requests',
  'writes',
  'events',
  'deliveries',
  'sentBytes',
  'realtimeConnections',
  'records',
  'dataBytes',
  'fileBytes',
  'logBytes',
  'diskBytes',
] as const;

/** `instance usage [INSTANCE] [--from TIME] [--to TIME] [--step hour|day] [--top N] [--by COUNT]` */
export function usageCommand(io: CommandIo): Command {
  const command = new Command('usage').description('show what an instance has used, or which have used most');
  command.argument('[instance]', 'its slug or its id; all instances with --top');
  command.option('--from <TIME>', 'a date or time in UTC, as 2026-11-20; 30 days ago by default');
  command.option('--to <TIME>', 'a date or time in UTC; now by default');
  command.addOption(new Option('--step <STEP>', 'day by default').choices(['hour', 'day']));
  command.option('--top <COUNT>', 'the instances that have used most instead, in the whole time');
  command.addOption(
    new Option('--by <NAME>', 'with --top: most of what; requests by default').choices(counts),
  );
  addInstanceFlags(command);
  command.action(async (instance: string | undefined) => {
    const top = numberOf(command, 'top', { min: 1, max: 1_000 });
    if ((instance === undefined) === (top === undefined))
      throw new ConfigError('Name an instance, or give --top.');
    const [from, to] = [timeOf(command, 'from'), timeOf(command, 'to')];
    const [step, by] = [textOf(command, 'step'), textOf(command, 'by')];
    const path = instance === undefined ? '/api/operator/usage' : instancePath(instance, '/usage');
    const query = { from, to, ...(instance === undefined ? { top, by } : { step }) };
    const items = await withOperatorApi({ command, io }, async (api) =>
      itemsOf(await api.request('GET', path, { query })),
    );
    const columns = [instance === undefined ? slugColumn : timeColumn, ...counts];
    await showList(io, items, { columns, isJson: isSet(command, 'json') });
    if (items.length === 0 && !isSet(command, 'json')) note(io, 'Nothing was used in that time.\n');
  });
  return command;
}

/** Returns a time as the API reads it. Throws ConfigError for a text of another form. */
function timeOf(command: Command, name: 'from' | 'to'): string | undefined {
  const text = textOf(command, name);
  if (text === undefined) return undefined;
  const match = /^\d{4}-\d\d-\d\d(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)Z?)?$/.exec(text);
  const ms = match === null ? Number.NaN : Date.parse(`${text.slice(0, 10)}T${match[1] ?? '00:00'}Z`);
  if (Number.isFinite(ms)) return toTimestamp(ms);
  throw new ConfigError(
    `--${name} must be like 2026-11-20 or 2026-11-20T16:00Z, not ${JSON.stringify(text)}.`,
  );
}

const timeColumn: Column = { title: 'time', of: ({ at }) => String(at).slice(0, 16) };
/** A removed instance has no slug. */
const slugColumn: Column = {
  title: 'instance',
  of: ({ slug, instance }: JsonObject) => (slug === '' ? instance : slug),
};
