import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { isJsonObject, type JsonObject, withoutByteOrderMark } from '../../base/json.ts';
import { outwardFlags } from '../../config/config-flags.ts';
import { type Api, itemsOf, objectOf } from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { confirm } from '../terminal/confirm.ts';
import { endpointsPath } from './find-endpoint.ts';
import { addFlags, isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, note, print, printStyled } from '../terminal/print.ts';
import type { SchemaChange, SchemaPart } from '../../definitions/schema-changes.ts';
import { changesText } from '../schema/changes-text.ts';
import { replaceFile } from '../schema/schema-files.ts';
import { colorsOf, jsonText, showItem, showJson } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

const endpointsMax = 1_000;

/** `endpoint export|apply`: endpoints as a file, for example of a repository. */
export function addEndpointFiles(parent: Command, io: CommandIo): void {
  addExport(parent, io);
  addApply(parent, io);
}

function addExport(parent: Command, io: CommandIo): void {
  const command = parent
    .command('export')
    .description('write the named endpoints as JSON for apply, without secrets');
  command.option('--file <FILE>', 'where to, in place of standard output');
  addApiFlags(command);
  command.action(async () => {
    const all = await withApi(command, io, readEndpoints);
    const named = all.filter(({ name }) => name !== '').toSorted(byName);
    const content = `${jsonText({ endpoints: named.map(definitionOf) }, 2)}\n`;
    const file = textOf(command, 'file');
    if (file === undefined) await print(io, content);
    else {
      await replaceFile(file, content);
      if (isSet(command, 'json')) await showJson(io, { file, endpoints: named.length });
      else await print(io, `${countOf(named.length)} in ${file}.\n`);
    }
    const left = all.length - named.length;
    if (left > 0)
      note(io, `chancery: ${countOf(left)} without a name ${left === 1 ? 'is' : 'are'} left out.\n`);
  });
}

async function readEndpoints(api: Api): Promise<readonly JsonObject[]> {
  const query = { perPage: endpointsMax, skipTotal: 'true' };
  return itemsOf(await api.request('GET', endpointsPath, { query }));
}

function byName({ name: one }: JsonObject, { name: other }: JsonObject): number {
  return String(one) < String(other) ? -1 : 1;
}

const madeByService: ReadonlySet<string> = new Set([
  'id',
  'status',
  'statusReason',
  'verified',
  'previousSecretUntil',
  'created',
  'updated',
]);

/** Returns an endpoint as files have it: without what the service makes. One that is not active begins as paused where it is made. */
function definitionOf(endpoint: JsonObject): JsonObject {
  const members = Object.entries(endpoint).filter(([name]) => !madeByService.has(name));
  return { ...Object.fromEntries(members), ...(endpoint['status'] !== 'active' && { status: 'paused' }) };
}

function addApply(parent: Command, io: CommandIo): void {
  const command = parent
    .command('apply')
    .description('create, update and delete named endpoints to match a file, all or none');
  command.argument('<file>', 'what endpoint export has written; - is standard input');
  command.option('--dry-run', 'only show what would change');
  command.option('--delete-missing', 'delete endpoints whose names the file does not have');
  command.option('--yes', 'do not confirm deletions');
  addApiFlags(command);
  command.optionsGroup('For data of this machine:');
  addFlags(command, outwardFlags);
  command.action(async (file: string) => {
    const definitions = await readDefinitions(file, io);
    await withApi(command, io, (api) => applyDefinitions(api, command, { definitions, io }));
  });
}

async function readDefinitions(file: string, { stdin }: CommandIo): Promise<readonly unknown[]> {
  const content = file === '-' ? await text(stdin) : await readFile(file, 'utf8');
  const endpoints = listIn(content);
  if (endpoints !== undefined) return endpoints;
  throw new CommandError(
    exitCodes.refused,
    `${file} is not JSON with endpoints: chancery endpoint export writes it.`,
  );
}

function listIn(content: string): readonly unknown[] | undefined {
  try {
    const json: unknown = JSON.parse(withoutByteOrderMark(content));
    const endpoints: unknown = isJsonObject(json) ? json['endpoints'] : undefined;
    return Array.isArray(endpoints) ? endpoints : undefined;
  } catch {
    return undefined;
  }
}

interface Application {
  readonly definitions: readonly unknown[];
  readonly io: CommandIo;
}

async function applyDefinitions(api: Api, command: Command, { definitions, io }: Application): Promise<void> {
  const body = { endpoints: definitions, deleteMissing: isSet(command, 'delete-missing') };
  const [isDryRun, isJson] = [isSet(command, 'dry-run'), isSet(command, 'json')];
  const request = async (dryRun: boolean): Promise<JsonObject> =>
    objectOf(await api.request('PUT', `${endpointsPath}/import`, { body: { ...body, dryRun } }));
  const plan = await request(true);
  const before = plan['updated'] === undefined ? [] : await readEndpoints(api);
  const changes = changesOf(plan, { before, definitions });
  if (!isJson) await printStyled(io, changesText(changes, colorsOf(io)));
  const isApplied = !isDryRun && changes.length > 0;
  const lost = changes.filter(({ change }) => change === 'delete').map(({ name }) => name);
  if (isApplied && lost.length > 0) {
    const loss = `the ${lost.length === 1 ? 'endpoint' : 'endpoints'} ${lost.join(', ')} with what waits for ${lost.length === 1 ? 'it' : 'them'}`;
    await confirm(io, { loss, name: 'delete', place: api.place }, isSet(command, 'yes'));
  }
  const done = isApplied ? await request(false) : plan;
  if (isJson) return showJson(io, { applied: isApplied, ...done });
  if (changes.length === 0) await print(io, 'Nothing to change.\n');
  else await print(io, `${countOf(changes.length)} ${isApplied ? 'changed' : 'would change'}.\n`);
  if (isApplied) await showSecrets(io, done);
}

function changesOf(
  plan: JsonObject,
  {
    before,
    definitions,
  }: { readonly before: readonly JsonObject[]; readonly definitions: readonly unknown[] },
): readonly SchemaChange[] {
  const current = new Map(before.map((endpoint) => [endpoint['name'], endpoint]));
  const target = new Map(definitions.filter(isJsonObject).map((one) => [one['name'], one]));
  const whole =
    (change: SchemaChange['change']) =>
    ({ id, name }: JsonObject): SchemaChange => ({
      change,
      id: typeof id === 'string' ? id : '',
      name: String(name),
      parts: [],
    });
  const updated = objects(plan['updated']).map((one) => {
    const parts = partsOf(one, { was: current.get(one['name']) ?? {}, is: target.get(one['name']) ?? {} });
    return { ...whole('change')(one), parts };
  });
  return [
    ...objects(plan['created']).map(whole('create')),
    ...updated,
    ...objects(plan['deleted']).map(whole('delete')),
  ];
}

/** An option that the file leaves out is only said to go: what its default is, the service knows. */
function partsOf(
  { changed }: JsonObject,
  { was, is }: { readonly was: JsonObject; readonly is: JsonObject },
): readonly SchemaPart[] {
  const names = Array.isArray(changed) ? changed.map(String) : [];
  return names.map((part) => ({ part, before: was[part], after: is[part] }));
}

function objects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Shows what signs for new endpoints: no other command does so later. */
async function showSecrets(io: CommandIo, { created }: JsonObject): Promise<void> {
  const endpoints = objects(created);
  if (endpoints.length === 0) return;
  const secrets: Record<string, unknown> = {};
  for (const { name, secret } of endpoints) secrets[`secret of ${String(name)}`] = secret;
  await showItem(io, secrets, { isJson: false });
  for (const { warnings } of endpoints)
    for (const warning of Array.isArray(warnings) ? warnings : []) note(io, `chancery: ${warning}\n`);
  if (io.stdout.isTTY === true) note(io, 'Keep the secrets: no other command shows them again.\n');
}

function countOf(count: number): string {
  return `${count} ${count === 1 ? 'endpoint' : 'endpoints'}`;
}
