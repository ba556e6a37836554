import { Command } from 'commander';
import { ConfigError } from '../../config/config-error.ts';
import { dataFlags } from '../../config/config-flags.ts';
import { listNodes, shardCount } from '../../dispatch/nodes/leased-ownership.ts';
import { readReports, reportLines } from '../../hosts/long-turn-record.ts';
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
    const [nodes, reports] = await withDataDirectory(
      config,
      async ({ home }) => [await listNodes(home.control), await readReports(home.control)] as const,
      'fail',
    );
    const lines = nodes.flatMap(({ id, version, started, seenSeconds, shards }) => [
      `${id}  ${version}  since ${started}  seen ${seenSeconds} s ago  ${shards} of ${shardCount} shards\n`,
      ...reports
        .filter(({ node }) => node === id)
        .flatMap(reportLines)
        .map((line) => `  ${line}\n`),
    ]);
    await print(io, lines.length === 0 ? 'No node is running.\n' : lines.join(''));
  });
  return command;
}
