import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { isJsonObject, type JsonObject, withoutByteOrderMark } from '../../base/json.ts';
import { ConfigError } from '../../config/config-error.ts';
import { objectOf } from '../api/api.ts';
import { addInstanceFlags, instancesPath, showDone } from '../api/instance-path.ts';
import { withOperatorApi } from '../api/with-api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, note, print } from '../terminal/print.ts';

/** `instance create SLUG` */
export function instanceCreateCommand(io: CommandIo): Command {
  const command = new Command('create').description('create an instance');
  command.argument('<slug>', 'its name in /i/SLUG/…');
  command.option('--host <HOST>', 'the host it answers on');
  command.option('--template <INSTANCE>', 'copy the collections of this instance, with their rules');
  command.option('--superuser <EMAIL>', 'create its first superuser; needs --password-stdin');
  command.option('--password-stdin', 'read the password of the superuser from standard input');
  command.option(
    '--from <FILE>',
    'JSON with labels, quotas, collections, settings or endpoints; - is standard input',
  );
  addInstanceFlags(command);
  command.action(async (slug: string) => {
    const body = { ...(await readMembers(command, io)), ...(await flagMembers(command, io)), slug };
    const item = await withOperatorApi({ command, io, isCreating: true }, async (api) =>
      objectOf(await api.request('POST', instancesPath, { body })),
    );
    await showDone(command, io, {
      item,
      line: `Instance ${slug} created with the id ${String(item['id'])}.`,
    });
    if (!isSet(command, 'json')) await printSecrets(io, item);
  });
  return command;
}

async function flagMembers(command: Command, io: CommandIo): Promise<JsonObject> {
  const [host, template, email] = ['host', 'template', 'superuser'].map((name) => textOf(command, name));
  const isPiped = isSet(command, 'password-stdin');
  if ((email !== undefined) !== isPiped)
    throw new ConfigError('--superuser and --password-stdin belong together: give both or neither.');
  if (isPiped && textOf(command, 'from') === '-')
    throw new ConfigError('Standard input is either the password or --from -, not both.');
  return {
    ...(host !== undefined && { host }),
    ...(template !== undefined && { template }),
    ...(email !== undefined && {
      superuser: { email, password: (await text(io.stdin)).replace(/\r?\n$/, '') },
    }),
  };
}

async function readMembers(command: Command, io: CommandIo): Promise<JsonObject> {
  const path = textOf(command, 'from');
  if (path === undefined) return {};
  const json = withoutByteOrderMark(path === '-' ? await text(io.stdin) : await readFile(path, 'utf8'));
  try {
    const members: unknown = JSON.parse(json);
    if (isJsonObject(members)) return members;
  } catch {
    // Said below.
  }
  throw new CommandError(
    exitCodes.refused,
    `${path === '-' ? 'Standard input' : path} is not a JSON object.`,
  );
}

/** Prints the secret of each endpoint, which no later answer has. */
async function printSecrets(io: CommandIo, { endpoints }: JsonObject): Promise<void> {
  const created = Array.isArray(endpoints) ? endpoints.filter(isJsonObject) : [];
  if (created.length > 0) note(io, 'The secrets of its endpoints are shown only once:\n');
  await print(io, created.map(({ url, secret }) => `${String(url)}\t${String(secret)}\n`).join(''));
}
