import { readFileSync } from 'node:fs';
import { ConfigError } from './config-error.ts';

/** Reads a list: its members, separated by commas. */
export function listOf(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Reads seconds with up to three decimals, above 0. */
export function readSeconds(name: string, text: string | undefined, max: number): number {
  const seconds = /^\d{1,6}(?:\.\d{1,3})?$/.test(text ?? '') ? Number(text) : 0;
  if (seconds > 0 && seconds <= max) return seconds;
  throw new ConfigError(`--${name} takes seconds, up to ${max}, not ${JSON.stringify(text)}.`);
}

/** Reads hours with up to four decimals, 0 included. */
export function readHours(name: string, text: string | undefined, max: number): number {
  const hours = /^\d{1,6}(?:\.\d{1,4})?$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (hours <= max) return hours;
  throw new ConfigError(`--${name} takes hours, from 0 to ${max}, not ${JSON.stringify(text)}.`);
}

/** Reads a switch, which is off unless it is set. */
export function readSwitch(name: string, text: string | undefined): boolean {
  if (text === undefined || text === 'false' || text === '0') return false;
  if (text === 'true' || text === '1') return true;
  throw new ConfigError(`--${name} is on or off: expected true or false, not ${JSON.stringify(text)}.`);
}

interface Range {
  readonly min?: number;
  readonly max: number;
}

/** Reads a whole number of six digits at most. */
export function readInteger(name: string, text: string | undefined, { min = 0, max }: Range): number {
  const value = /^\d{1,6}$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new ConfigError(
    `--${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`,
  );
}

/** Reads a file without the blanks around its text. */
export function readText(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`--${name}: ${reason}`, { cause: error });
  }
}
