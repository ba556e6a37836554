import { Command } from 'commander';
import { keyScopes } from '../../access/caller.ts';
import type { JsonObject } from '../../base/json.ts';
import { objectOf } from '../api/api.ts';
import { addInstance, instancePath } from '../api/instance-path.ts';
import { withOperatorApi } from '../api/with-api.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, note, print } from '../terminal/print.ts';
import { showJson } from '../terminal/show.ts';

/** `instance key` and `instance signin`: access to an instance that the operator issues. */
export function instanceAccessCommands(io: CommandIo): readonly Command[] {
  return [keyCommand(io), signInCommand(io)];
}

function keyCommand(io: CommandIo): Command {
  const command = new Command('key').description('create an API key of an instance, and print it once');
  addInstance(command);
  command.argument('<name>', 'what it is for');
  command.requiredOption('--scopes <SCOPES>', `comma-separated: ${keyScopes.join(', ')}`);
  command.option('--expires <DATE>', 'when it expires; never by default');
  command.action(async (instance: string, name: string) => {
    const expires = textOf(command, 'expires');
    const scopes = (textOf(command, 'scopes') ?? '').split(',').map((scope) => scope.trim());
    const body = { name, scopes, ...(expires !== undefined && { expires }) };
    await issue(command, io, { instance, body, member: 'key' });
  });
  return command;
}

function signInCommand(io: CommandIo): Command {
  const command = new Command('signin').description(
    'print a link that signs in to the dashboard of an instance once, within five minutes',
  );
  addInstance(command);
  command.option('--email <ADDRESS>', 'of the superuser to sign in as; the first one by default');
  command.action(async (instance: string) => {
    const email = textOf(command, 'email');
    await issue(command, io, {
      instance,
      body: { kind: 'signin', ...(email !== undefined && { email }) },
      member: 'url',
    });
  });
  return command;
}

interface Issue {
  readonly instance: string;
  readonly body: JsonObject;
  /** The member of the answer that only this answer has. */
  readonly member: 'key' | 'url';
}

async function issue(command: Command, io: CommandIo, { instance, body, member }: Issue): Promise<void> {
  const issued = await withOperatorApi({ command, io }, async (api) =>
    objectOf(await api.request('POST', instancePath(instance, '/keys'), { body })),
  );
  if (isSet(command, 'json')) return showJson(io, issued);
  note(io, member === 'key' ? `The key ${String(issued['id'])} is shown only once:\n` : '');
  await print(io, `${String(issued[member])}\n`);
}
