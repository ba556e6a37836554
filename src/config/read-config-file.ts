import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { codeOf } from '../base/process.ts';
import { allOptions, type FlagDefinition } from './config-flags.ts';
import { ConfigError } from './config-error.ts';
import { type ConfigFile, configPath, type Sources } from './config.ts';
import { nearestName } from '../fields/field-error.ts';

const fileName = 'chancery.toml';

/**
 * Reads the file of options that is named, else `chancery.toml` in the folder, which is the working directory by default; undefined where
 * there is none. Throws ConfigError for invalid TOML, and for each option that does not exist or has another type.
 */
export function readConfigFile(sources: Omit<Sources, 'file'>, folder = ''): ConfigFile | undefined {
  const named = configPath(sources);
  const path = named ?? join(folder, fileName);
  const text = readIfThere(path, named !== undefined);
  if (text === undefined) return undefined;
  const values = Object.entries(parseToml(path, text)).map(
    ([name, value]) => [name, valueText(path, name, value)] as const,
  );
  return { path, isNamed: named !== undefined, values: new Map(values) };
}

function readIfThere(path: string, isNamed: boolean): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (!isNamed && codeOf(error) === 'ENOENT') return undefined;
    throw new ConfigError(`${path} cannot be read: ${codeOf(error) || String(error)}.`, { cause: error });
  }
}

function parseToml(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // What follows the first line is the line of the file, which may hold a secret.
    const [reason = ''] = error.message.split('\n', 1);
    const place = `line ${error.line}, column ${error.column}`;
    throw new ConfigError(`${path}, ${place}: ${reason.replace(/^Invalid TOML document: /, '')}.`);
  }
}

/** Returns a value as the text that its flag would have. */
function valueText(path: string, name: string, value: unknown): string {
  const option = allOptions.find((one) => one.name === name);
  if (option === undefined) throw new ConfigError(unknownOption(path, name));
  const text = textOf(option, value);
  if (text !== undefined && (text !== '' || isList(option))) return text;
  throw new ConfigError(`${path}: ${name} must be ${formOf(option)}.`);
}

function unknownOption(path: string, name: string): string {
  const suggestion = nearestName(
    name,
    allOptions.map((option) => option.name),
  );
  const hint =
    suggestion === undefined ? 'chancery config list shows them all' : `did you mean ${suggestion}?`;
  return `${path}: there is no option ${JSON.stringify(name)}: ${hint}${suggestion === undefined ? '.' : ''}`;
}

function textOf(option: FlagDefinition, value: unknown): string | undefined {
  if (option.value === undefined) return typeof value === 'boolean' ? String(value) : undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (!isList(option) || !Array.isArray(value)) return undefined;
  const isPlain = value.every((item) => ['string', 'number'].includes(typeof item));
  return isPlain ? value.join(',') : undefined;
}

function isList({ value }: FlagDefinition): boolean {
  return value?.endsWith(',…') === true;
}

function formOf(option: FlagDefinition): string {
  if (option.value === undefined) return 'true or false';
  return isList(option) ? 'a list of texts' : 'a text that is not empty, or a number';
}
