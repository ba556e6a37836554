import { Command } from 'commander';
import { AppError } from '../base/errors.ts';
import { dataSettings, readConfig } from '../config.ts';
import { listNodes } from '../webhooks/list-nodes.ts';
import { shardCount } from '../webhooks/shard-of.ts';
import { addSettings, flagsOf } from './settings.ts';
import { withDataDirectory } from './with-instance.ts';

/** `nodes` */
export function nodesCommand(): Command {
  const command = new Command('nodes').description(
    'the nodes of a PostgreSQL database, and how they divide the work',
  );
  addSettings(command, dataSettings);
  command.action(async () => {
    const flags = flagsOf(command);
    if (readConfig(flags).postgres === undefined)
      throw new AppError(
        'bad_request',
        'There are nodes only with --postgres: a data directory has one server.',
      );
    const nodes = await withDataDirectory(flags, ({ home }) => listNodes(home.control));
    for (const { id, version, started, seenSeconds, shards } of nodes) {
      process.stdout.write(
        `${id}  ${version}  since ${started}  seen ${seenSeconds} s ago  ${shards} of ${shardCount} shards\n`,
      );
    }
    if (nodes.length === 0) process.stdout.write('No node is running.\n');
  });
  return command;
}
