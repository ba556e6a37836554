import { Option, type Command } from 'commander';
import { variableOf, type Flags, type Setting } from '../config.ts';

/** Gives a command its settings as flags. Nothing has a default here: config.ts decides, the environment included. */
export function addSettings(command: Command, settings: readonly Setting[]): void {
  for (const setting of settings) {
    const flag = setting.value === undefined ? `--${setting.name}` : `--${setting.name} <${setting.value}>`;
    const fallback = setting.fallback === undefined ? '' : `, otherwise ${setting.fallback}`;
    command.addOption(new Option(flag, `${setting.description} (or ${variableOf(setting.name)}${fallback})`));
  }
}

/** Flags by the names of their settings: commander turns `allow-net` into `allowNet`. */
export function flagsOf(command: Command): Flags {
  const flags: Record<string, string | boolean | undefined> = {};
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (typeof value === 'string' || typeof value === 'boolean') flags[option.name()] = value;
  }
  return flags;
}
