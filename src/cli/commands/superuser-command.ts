import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { deleteSuperuser, listSuperusers, upsertSuperuser } from '../../auth/superuser.ts';
import { ConfigError } from '../../config/config-error.ts';
import { dataFlags } from '../../config/config-flags.ts';
import type { Instance } from '../../instances/instance.ts';
import { addFlags } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { placeOf, withInstance } from '../api/with-instance.ts';

/** `superuser upsert|list|delete` */
export function superuserCommand(io: CommandIo): Command {
  const command = new Command('superuser').description(
    'manage superusers, who have full access to an instance',
  );

  const upsert = command.command('upsert').description('add a superuser, or change the password of one');
  upsert
    .argument('<email>')
    .argument('[password]', 'visible to other users of this machine; prefer --password-stdin');
  upsert.option('--password-stdin', 'read the password from standard input');
  addInstanceFlags(upsert);
  upsert.action(async (email: string, argument: string | undefined) => {
    const password = await readPassword(
      argument,
      upsert.opts()['passwordStdin'] === true ? io.stdin : undefined,
    );
    const work = (instance: Instance): Promise<string> => upsertSuperuser(instance, email, password);
    const done = await withInstance(placeOf(upsert, io), work, { rehearse: work });
    await print(io, `Superuser ${email} ${done}.\n`);
  });

  const list = command.command('list').description('show the e-mail addresses of all superusers');
  addInstanceFlags(list);
  list.action(async () => {
    const emails = await withInstance(placeOf(list, io), listSuperusers, 'fail');
    await print(io, emails.map((email) => `${email}\n`).join(''));
  });

  const remove = command.command('delete').description('delete a superuser');
  remove.argument('<email>');
  addInstanceFlags(remove);
  remove.action(async (email: string) => {
    await withInstance(placeOf(remove, io), (instance) => deleteSuperuser(instance, email), 'fail');
    await print(io, `Superuser ${email} deleted.\n`);
  });
  return command;
}

/** Of standard input all is the password, but for one line end behind it. */
async function readPassword(argument: string | undefined, stdin: Readable | undefined): Promise<string> {
  if (argument !== undefined && stdin === undefined) return argument;
  if (argument !== undefined || stdin === undefined)
    throw new ConfigError('Expected either a password or --password-stdin.');
  const input = await text(stdin);
  return input.replace(/\r?\n$/, '');
}

function addInstanceFlags(command: Command): void {
  addFlags(command, dataFlags);
  command.option('--instance <SLUG>', 'the instance', 'default');
}
