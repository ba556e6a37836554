import { Command } from 'commander';
import { ConfigError } from '../../config/config.ts';
import { dataFlags } from '../../config/config-flags.ts';
import { listNodes, shardCount } from '../../dispatch/nodes/leased-ownership.ts';
import { addFlags, configOf } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { withDataDirectory } from '../api/with-instance.ts';

/** `nodes` */
export function nodesCommand(io: CommandIo): Command {
  const command = new Command('nodes').description(
    'show the nodes of a PostgreSQL database, and how they share the work',
  );
  addFlags(command, dataFlags);
  command.action(async () => {
    const config = configOf(command, io);
    if (config.postgres === undefined)
      throw new ConfigError('There are nodes only with --postgres: a data directory has one server.');
    const nodes = await withDataDirectory(config, ({ home }) => listNodes(home.control), 'fail');
    const lines = nodes.map(
      ({ id, version, started, seenSeconds, shards }) =>
        `${id}  ${version}  since ${started}  seen ${seenSeconds} s ago  ${shards} of ${shardCount} shards\n`,
    );
    await print(io, lines.length === 0 ? 'No node is running.\n' : lines.join(''));
  });
  return command;
}
