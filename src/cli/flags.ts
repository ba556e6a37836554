import { Option, type Command } from 'commander';
import { type Config, readConfig, variableOf, type Flags, type FlagDefinition } from '../config.ts';
import type { CommandIo } from './print.ts';

/** Adds flags to a command, without defaults: config.ts applies those after the environment. */
export function addFlags(command: Command, flags: readonly FlagDefinition[]): void {
  for (const { name, value, description, fallback } of flags) {
    const otherwise = fallback === undefined ? '' : `, otherwise ${fallback}`;
    const written = value === undefined ? `--${name}` : `--${name} <${value}>`;
    command.addOption(new Option(written, `${description} (or ${variableOf(name)}${otherwise})`));
  }
}

/** Returns the config that the flags of a command and the environment make. */
export function configOf(command: Command, { environment }: CommandIo): Config {
  return readConfig(flagsOf(command), environment);
}

/** Returns the given values by the names of the flags. Commander itself turns `allow-net` into `allowNet`. */
export function flagsOf(command: Command): Flags {
  const flags: Record<string, string | boolean | undefined> = {};
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (typeof value === 'string' || typeof value === 'boolean') flags[option.name()] = value;
  }
  return flags;
}
