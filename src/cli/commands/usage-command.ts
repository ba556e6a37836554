import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { dataFlags } from '../../config/config-flags.ts';
import { ConfigError } from '../../config/config-error.ts';
import { type StoredInstance, unknownInstance } from '../../instances/instance-rows.ts';
import { usageLimits } from '../../logs/add-usage.ts';
import { readTopUsage, readUsage, type Usage, type UsageStep } from '../../logs/read-usage.ts';
import type { DataDirectory } from '../../open-data-directory.ts';
import { withDataDirectory } from '../api/with-instance.ts';
import { addFlags, configOf, isSet, numberOf, textOf } from '../terminal/flags.ts';
import { type CommandIo, print, printForPrograms } from '../terminal/print.ts';

const daysShown = 30;

/** `instance usage [SLUG] [--from TIME] [--to TIME] [--step hour|day] [--top N] [--json]` */
export function usageCommand(io: CommandIo): Command {
  const command = new Command('usage').description('show what instances have used, by hours or days');
  command.argument('[slug]', 'the instance, or its id when it is removed; all of them with --top');
  command.option('--from <TIME>', `a date or time in UTC, otherwise ${daysShown} days ago`);
  command.option('--to <TIME>', 'a date or time in UTC, otherwise now');
  command.option('--step <STEP>', 'hour or day, otherwise day');
  command.option('--top <N>', 'the instances with most requests instead, in the whole time');
  command.option('--json', 'print a line of JSON for each');
  addFlags(command, dataFlags);
  command.action(async (slug: string | undefined) => {
    const top = numberOf(command, 'top', { min: 1, max: 1_000 });
    if ((slug === undefined) === (top === undefined))
      throw new ConfigError('Name an instance, or give --top.');
    const range = rangeOf(command);
    const step = stepOf(command);
    const read = async (data: DataDirectory): Promise<readonly (Usage & { readonly slug: string })[]> => {
      const all = await data.directory.list();
      const { control } = data.home;
      const usage =
        top === undefined
          ? await readUsage(control, { ...range, step, instance: await idOf(all, slug ?? '') })
          : await readTopUsage(control, range, { by: 'requests', max: top });
      return usage.map((one) => ({
        slug: all.find(({ id }) => id === one.instance)?.slug ?? one.instance,
        ...one,
      }));
    };
    const usage = await withDataDirectory(configOf(command, io), read, 'fail');
    if (isSet(command, 'json'))
      await printForPrograms(io, usage.map((one) => `${JSON.stringify(one)}\n`).join(''));
    else await print(io, tableOf(usage.map((one) => toCells(one, top !== undefined))));
  });
  return command;
}

function rangeOf(command: Command): { readonly from: number; readonly to: number } {
  const now = systemClock.now();
  const to = timeOf(command, 'to') ?? now + 1;
  return { from: timeOf(command, 'from') ?? to - daysShown * usageLimits.dayMs, to };
}

function timeOf(command: Command, name: 'from' | 'to'): number | undefined {
  const text = textOf(command, name);
  if (text === undefined) return undefined;
  const match = /^\d{4}-\d\d-\d\d(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)Z?)?$/.exec(text);
  const ms = match === null ? Number.NaN : Date.parse(`${text.slice(0, 10)}T${match[1] ?? '00:00'}Z`);
  if (Number.isNaN(ms))
    throw new ConfigError(
      `--${name} must be like 2026-11-20 or 2026-11-20T16:00Z, not ${JSON.stringify(text)}.`,
    );
  return ms;
}

function stepOf(command: Command): UsageStep {
  const text = textOf(command, 'step') ?? 'day';
  if (text === 'hour' || text === 'day') return text;
  throw new ConfigError(`--step must be hour or day, not ${JSON.stringify(text)}.`);
}

/** Throws not_found for what is neither an instance nor the id of one that is removed. */
async function idOf(all: readonly StoredInstance[], name: string): Promise<string> {
  const instance = all.find(({ slug, id }) => slug === name || id === name);
  if (instance !== undefined) return instance.id;
  if (/^[a-z0-9]{15}$/.test(name)) return name;
  throw unknownInstance(name);
}

function toCells(
  usage: Usage & { readonly slug: string },
  isOfAll: boolean,
): readonly (readonly [string, string])[] {
  const { slug, at, instance: _, ...counts } = usage;
  const first = isOfAll ? (['instance', slug] as const) : (['time', at.slice(0, 16)] as const);
  const others = Object.entries(counts).map(
    ([name, value]) => [name, value === null ? '' : String(value)] as const,
  );
  return [first, ...others];
}

/** Returns lines whose columns have the width of their widest cell. */
function tableOf(rows: readonly (readonly (readonly [name: string, value: string])[])[]): string {
  const [first] = rows;
  if (first === undefined) return 'Nothing was used in that time.\n';
  const lines = [first.map(([name]) => name), ...rows.map((row) => row.map(([, value]) => value))];
  const widths = first.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map((line) =>
      line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))),
    )
    .map((line) => `${line.join('  ')}\n`)
    .join('');
}
