import { readFile, writeFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { codeOf } from '../../base/process.ts';
import { ConfigError } from '../../config/config-error.ts';
import { typedClient } from '../../definitions/typed-client.ts';
import { typedWebhooks } from '../../definitions/typed-webhooks.ts';
import { readCollections } from './collection-command.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** `types` */
export function typesCommand(io: CommandIo): Command {
  const command = new Command('types').description(
    'write TypeScript types of the collections, for a client or for a receiver of webhooks',
  );
  command.addOption(
    new Option('--for <USE>', 'client: for the pocketbase package; webhooks: for @chancery/webhooks')
      .choices(['client', 'webhooks'])
      .default('client'),
  );
  command.option('--out <FILE>', 'output file; standard output by default');
  command.option('--check', 'write nothing; check that the file of --out is current');
  addApiFlags(command);
  command.action(async () => {
    const [file, isCheck] = [textOf(command, 'out'), isSet(command, 'check')];
    if (isCheck && file === undefined) throw new ConfigError('--check needs the file: give it by --out.');
    const isForWebhooks = textOf(command, 'for') === 'webhooks';
    const definitions = await withApi(command, io, readCollections);
    const types = isForWebhooks ? typedWebhooks(definitions) : typedClient(definitions);
    if (file === undefined) {
      await print(io, types);
      return;
    }
    const isSame = (await readIfThere(file)) === types;
    if (isCheck && !isSame)
      throw new CommandError(
        exitCodes.no,
        `${file} is not what the collections are now: write it again by chancery types${isForWebhooks ? ' --for webhooks' : ''} --out ${file}.`,
      );
    // A file that stays as it is wakes no compiler that watches it.
    if (!isSame) await writeFile(file, types);
    if (isCheck || isSame) await print(io, `${file} is as the collections are.\n`);
    else await print(io, `The types are in ${file}.\n`);
  });
  return command;
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
