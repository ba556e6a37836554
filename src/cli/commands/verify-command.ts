import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { isJsonObject } from '../../base/json.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import { ConfigError } from '../../config/config-error.ts';
import { readDate } from '../../base/read-date.ts';
import { hasNoFailure, showChecks } from '../doctor/checks.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { diagnoseWebhook } from '../doctor/diagnose-webhook.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';

/** `verify` */
export function verifyCommand(io: CommandIo): Command {
  const command = new Command('verify').description('explain why the signature of a webhook does not match');
  command.argument('<file>', 'file with the raw body; - reads standard input');
  command.option('--secret <SECRET>', 'signing secret of the endpoint');
  command.option('--secret-file <FILE>', 'file with the secret');
  command.option(
    '--headers <FILE|LINE>',
    'file with the headers, as lines or JSON, or one of them as "name: value"; may be repeated',
    (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
  );
  command.option('--at <TIME>', 'when the request arrived: a date, or seconds since 1970; now by default');
  command.option('--tolerance <SECONDS>', 'maximum age of the signature', '300');
  command.option('--json', 'print JSON');
  command.action(async (file: string) => {
    // The option collects texts.
    const sources = command.opts()['headers'] as readonly string[] | undefined;
    if (sources === undefined) throw new ConfigError('There are no headers: give them by --headers.');
    const checks = diagnoseWebhook({
      secret: await readSecret(command),
      headers: await readHeaders(sources),
      body: file === '-' ? await buffer(io.stdin) : await readFile(file),
      nowSeconds: readTime(textOf(command, 'at')),
      toleranceSeconds: numberOf(command, 'tolerance', { min: 0, max: 999_999_999 }) ?? 0,
    });
    await showChecks(io, checks, { isJson: isSet(command, 'json'), verdict: 'valid' });
    if (!hasNoFailure(checks)) throw new CommandError(exitCodes.no, '');
  });
  return command;
}

async function readSecret(command: Command): Promise<string> {
  const [secret, file] = [textOf(command, 'secret'), textOf(command, 'secret-file')];
  if ((secret === undefined) === (file === undefined))
    throw new ConfigError('The secret of the endpoint is missing: give it by --secret or --secret-file.');
  // An editor ends the last line of a file, which is no part of the secret.
  return file === undefined ? (secret ?? '') : (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
}

function readTime(text: string | undefined): number {
  if (text === undefined) return Math.floor(systemClock.now() / 1_000);
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const date = readDate(text) ?? '';
  if (date !== '') return Math.floor(fromTimestamp(date) / 1_000);
  throw new ConfigError(`--at must be a date or seconds since 1970, not ${JSON.stringify(text)}.`);
}

type Headers = Map<string, readonly string[]>;

/** Reads headers from lines and files. Throws ConfigError for what has none. */
async function readHeaders(sources: readonly string[]): Promise<Headers> {
  const headers: Headers = new Map();
  for (const one of sources) {
    const line = headerLine(one);
    const pairs = line === undefined ? headersIn(await readFile(one, 'utf8')) : [line];
    if (pairs.length === 0)
      throw new ConfigError(`There are no headers in ${one}: expected lines of "name: value", or JSON.`);
    for (const [name, value] of pairs) headers.set(name, [...(headers.get(name) ?? []), value]);
  }
  return headers;
}

type Header = readonly [name: string, value: string];

function headersIn(text: string): readonly Header[] {
  if (/^\s*[{[]/.test(text)) return headersOfJson(text);
  return text
    .split('\n')
    .map(headerLine)
    .filter((line) => line !== undefined);
}

/** Reads `name: value`, also as `curl -v` shows it; undefined for any other text. */
function headerLine(line: string): Header | undefined {
  const [, name, value] = /^(?:[<>] )?([\w-]+):(?:\s+(.*?))?\s*$/.exec(line) ?? [];
  return name === undefined ? undefined : [name.toLowerCase(), value ?? ''];
}

/** Reads an object of headers, or a list of objects with `name` and `value`, as browsers and catchers save them. */
function headersOfJson(text: string): readonly Header[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new ConfigError('The headers are not JSON, although they begin as JSON does.', { cause: error });
  }
  if (isJsonObject(json))
    return Object.entries(json).flatMap(([name, value]) =>
      [value].flat().map((one): Header => [name.toLowerCase(), String(one)]),
    );
  const list: readonly unknown[] = Array.isArray(json) ? json : [];
  return list
    .filter(isJsonObject)
    .map(({ name, value }): Header => [String(name).toLowerCase(), String(value)]);
}
