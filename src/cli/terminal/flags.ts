import { Option, type Command } from 'commander';
import { type ClientConfig, readClient } from '../../config/client-config.ts';
import { ConfigError } from '../../config/config-error.ts';
import {
  type Config,
  type Environment,
  environmentOf,
  type Flags,
  readConfig,
  type Sources,
} from '../../config/config.ts';
import { readConfigFile } from '../../config/read-config-file.ts';
import { configFlag, variableOf, type FlagDefinition } from '../../config/config-flags.ts';
import type { CommandIo } from './print.ts';

/**
 * Adds flags to a command, and the one that names the file of options, without defaults: config.ts applies those after all sources. They
 * are shared by many commands, so only `--help-all` shows them.
 */
export function addFlags(command: Command, flags: readonly FlagDefinition[]): void {
  for (const option of optionsOf(command, flags))
    command.addOption(option.hideHelp().helpGroup('Service and data:'));
}

/** As {@link addFlags}, for the command that they are mostly about: `--help` shows them. */
export function addOwnFlags(command: Command, flags: readonly FlagDefinition[]): void {
  for (const option of optionsOf(command, flags)) command.addOption(option);
}

function optionsOf(command: Command, flags: readonly FlagDefinition[]): readonly Option[] {
  // A command may have flags of several kinds.
  const hasFile = command.options.some((option) => option.name() === configFlag.name);
  return (hasFile ? flags : [...flags, configFlag]).map(({ name, value, description, fallback }) => {
    const otherwise = fallback === undefined ? '' : `, default: ${fallback}`;
    const written = value === undefined ? `--${name}` : `--${name} <${value}>`;
    return new Option(written, `${description} (env: ${variableOf(name)}${otherwise})`);
  });
}

/** Returns the config that the flags of a command, the environment and the file make. */
export function configOf(command: Command, io: CommandIo): Config {
  const { flags, environment, file } = sourcesOf(flagsOf(command), io);
  return readConfig(flags, environment, file);
}

/** Returns how these flags, the environment and the file reach a service. */
export function clientOf(values: Flags, io: CommandIo): ClientConfig {
  const { flags, environment, file } = sourcesOf(values, io);
  return readClient(flags, environment, file);
}

/** Returns the variables of the environment of a command. */
export function variablesOf(io: CommandIo): Environment {
  return environmentOf(sourcesOf({}, io));
}

export function sourcesOf(flags: Flags, { environment, folder }: CommandIo): Sources {
  return { flags, environment, file: readConfigFile({ flags, environment }, folder) };
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

/** Returns the text of an option, or undefined. */
export function textOf(command: Command, name: string): string | undefined {
  const value = flagsOf(command)[name];
  return typeof value === 'string' ? value : undefined;
}

export function isSet(command: Command, name: string): boolean {
  return flagsOf(command)[name] === true;
}

/** Returns the whole number of an option, or undefined. Throws ConfigError for any other text. */
export function numberOf(
  command: Command,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = textOf(command, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new ConfigError(
    `--${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`,
  );
}
