import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { ConfigError } from '../../config/config-error.ts';
import { maskedValue } from '../../sending/endpoint-request.ts';
import { flagsOf, numberOf, textOf } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';

/** Adds a flag for each option of an endpoint that its owner sets (docs/webhooks-reference.md). */
export function addSettings(command: Command): void {
  command.option('--name <NAME>', 'its name in commands and files; "" for none');
  command.option('--description <TEXT>', 'a note of yours');
  command.option('--events <KINDS>', 'as "record.create,record.delete"; all by default');
  command.option('--collections <NAMES>', 'whose records, as "posts,authors"; "" for all');
  command.option(
    '--header <HEADER>',
    'sent with every request, as "Name: value"; may be repeated',
    addHeader,
  );
  command.option('--client-cert <FILE>', 'PEM: what the receiver is shown in TLS; "" for nothing');
  command.option('--client-key <FILE>', 'PEM: its key; left out, the stored one stays');
  command.option('--ca <FILE>', 'PEM: trusted in place of the system\'s authorities; "" for those');
  command.option('--payload <PAYLOAD>', 'full, or thin: only the id of the record');
  command.option('--fields <NAMES>', 'the fields sent beside the id, as "title,price"; "" for all');
  command.option('--cloud-events', 'send the headers of CloudEvents as well');
  command.option('--no-cloud-events', 'do not send them');
  command.option('--ed25519', 'sign requests with the key of the instance as well');
  command.option('--no-ed25519', 'do not');
  command.option('--order <ORDER>', 'none, record or strict');
  command.option(
    '--batch <MAX,MS>',
    'as "100,2000": events in a request, and how long the oldest waits for others; "none" for one each',
  );
  command.option('--transitions', 'tell it when records come to match its conditions, or match them no more');
  command.option('--no-transitions', 'tell it of changes alone');
  command.option('--coalesce', 'of the pending changes of a record, send only the last one');
  command.option('--no-coalesce', 'send each of them');
  command.option('--on-exhausted <WHAT>', 'skip or pause, with the order strict');
  command.option('--max-in-flight <COUNT>', 'requests open at once');
  command.option('--timeout-ms <MS>', 'for an answer');
  command.option(
    '--schedule <SECONDS>',
    'pauses between attempts, as "5,60,3600"; "standard", or "" for none',
  );
  command.option('--max-age-seconds <SECONDS>', 'age at which a delivery is exhausted, or "none"');
  command.option('--rate-limit <COUNT>', 'attempts per second, 0 for no limit');
}

/** Values come one after the other. What commander gives as the value so far is what this has returned, or undefined. */
function addHeader(header: string, before: readonly string[] = []): readonly string[] {
  return [...before, header];
}

/**
 * Returns the members that the flags set, and no others. Headers are added to those that the endpoint has; `Name:` takes one away. Throws
 * ConfigError for a value that cannot be one; what the service makes of the others, it says itself.
 */
export function settingsOf(command: Command, headersBefore: JsonObject): JsonObject {
  const members: Readonly<Record<string, unknown>> = {
    name: textOf(command, 'name'),
    description: textOf(command, 'description'),
    events: listOf(textOf(command, 'events')),
    collections: listOf(textOf(command, 'collections')),
    headers: headersOf(command, headersBefore),
    clientCertificate: clientCertificateOf(command),
    ca: contentOf(command, 'ca'),
    payload: textOf(command, 'payload'),
    fields: listOf(textOf(command, 'fields')),
    cloudEvents: flagsOf(command)['cloud-events'],
    ed25519: flagsOf(command)['ed25519'],
    order: textOf(command, 'order'),
    batch: batchOf(textOf(command, 'batch')),
    transitions: flagsOf(command)['transitions'],
    coalesce: flagsOf(command)['coalesce'],
    onExhausted: textOf(command, 'on-exhausted'),
    maxInFlight: numberOf(command, 'max-in-flight', { min: 1, max: 64 }),
    timeoutMs: numberOf(command, 'timeout-ms', { min: 1, max: 999_999_999 }),
    schedule: scheduleOf(textOf(command, 'schedule')),
    maxAgeSeconds: textOf(command, 'max-age-seconds') === 'none' ? null : ageOf(command),
    rateLimit: numberOf(command, 'rate-limit', { min: 0, max: 999_999_999 }),
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function clientCertificateOf(command: Command): JsonObject | null | undefined {
  const [certificate, key] = [contentOf(command, 'client-cert'), contentOf(command, 'client-key')];
  if (certificate === '') return null;
  if (certificate !== undefined) return { certificate, key: key ?? maskedValue };
  if (key === undefined) return undefined;
  throw new ConfigError('--client-key is the key of --client-cert: give both.');
}

/** Returns the content of the file that a flag names; empty for an empty name. */
function contentOf(command: Command, flag: string): string | undefined {
  const file = textOf(command, flag);
  return file === undefined || file === '' ? file : readFileSync(file, 'utf8');
}

function ageOf(command: Command): number | undefined {
  return numberOf(command, 'max-age-seconds', { min: 1, max: 999_999_999 });
}

function listOf(value: string | undefined): readonly string[] | undefined {
  const items = value?.split(',').map((item) => item.trim());
  return items?.filter((item) => item !== '');
}

function scheduleOf(value: string | undefined): readonly number[] | null | undefined {
  if (value === undefined || value === 'standard') return value === undefined ? undefined : null;
  return listOf(value)?.map((item) => {
    if (/^\d{1,9}$/.test(item)) return Number(item);
    throw new ConfigError(`--schedule takes seconds, as "5,60,3600", not ${JSON.stringify(value)}.`);
  });
}

function batchOf(value: string | undefined): JsonObject | null | undefined {
  if (value === undefined || value === 'none') return value === undefined ? undefined : null;
  const [, max, waitMs] = /^(\d{1,9}),(\d{1,9})$/.exec(value) ?? [];
  if (max !== undefined) return { max: Number(max), waitMs: Number(waitMs) };
  throw new ConfigError(
    `--batch takes a count and milliseconds, as "100,2000", not ${JSON.stringify(value)}.`,
  );
}

function headersOf(command: Command, before: JsonObject): JsonObject | undefined {
  const flags: unknown = command.getOptionValue('header');
  if (!Array.isArray(flags)) return undefined;
  const headers = new Map(Object.entries(before));
  for (const flag of flags) {
    const [, name = '', value = ''] = /^([^:\s]+)\s*:\s*(.*?)\s*$/s.exec(String(flag)) ?? [];
    // The value may be secret.
    if (name === '') throw new ConfigError('--header takes a header as "Name: value".');
    if (value === '') headers.delete(name.toLowerCase());
    else headers.set(name.toLowerCase(), value);
  }
  return Object.fromEntries(headers);
}

/** Reads a secret from a file, or from standard input for `-`: on the command line, others would see it. */
export async function readSecret(file: string, { stdin }: CommandIo): Promise<string> {
  const content = file === '-' ? await text(stdin) : await readFile(file, 'utf8');
  return content.replace(/\r?\n$/, '');
}

/** Returns the headers of an endpoint as the service shows them. */
export function headersShown({ headers }: JsonObject): JsonObject {
  return isJsonObject(headers) ? headers : {};
}
