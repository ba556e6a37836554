import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { openDataDirectory, StartError, takeLock } from '../../open-data-directory.ts';
import { systemClock } from '../../base/clock.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { Config } from '../../config/config.ts';
import { dataFlags } from '../../config/config-flags.ts';
import type { MovedInstance, MoveProgress } from '../../transfer/move-to-postgres.ts';
import { addFlags, configOf } from '../terminal/flags.ts';
import { type CommandIo, print, showLine } from '../terminal/print.ts';

/** `move` */
export function moveCommand(io: CommandIo): Command {
  const command = new Command('move').description(
    'copy a data directory into the empty database of --postgres, which then replaces it',
  );
  addFlags(command, dataFlags);
  command.action(async () => {
    const config = configOf(command, io);
    const moved = await move(config, ({ instance, table, rows }) =>
      showLine(io, `${instance}: ${table}: ${rows} rows`),
    );
    showLine(io, '');
    await print(io, summaryText(moved, config));
  });
  return command;
}

async function move(
  config: Config,
  onProgress: (progress: MoveProgress) => void,
): Promise<readonly MovedInstance[]> {
  const { data, postgres, queryTimeoutMs } = config;
  if (postgres === undefined) throw new ConfigError('No target: name an empty database with --postgres.');
  // Opening any other directory would make an empty service in it, and move that.
  if (!existsSync(join(data, 'control.db')))
    throw new StartError(`There is no data directory ${data}: expected a control.db in it.`);
  const lock = await takeLock(data);
  const ends: (() => unknown)[] = [() => lock.release()];
  try {
    const source = await openDataDirectory(
      { ...config, postgres: undefined, logLevel: 'error', auditDays: 0 },
      { role: 'reader' },
    );
    ends.unshift(() => source.stop());
    // Imported on demand: a server never needs it.
    const { openPostgresHome } = await import('../../storage/postgres/home.ts');
    const target = await openPostgresHome({
      ...postgres,
      isLossAllowed: postgres.allowUnsafe,
      queryTimeoutMs,
    });
    ends.unshift(() => target.stop());
    const { moveToPostgres } = await import('../../transfer/move-to-postgres.ts');
    return await moveToPostgres({
      source: {
        home: source.home,
        // Deleted ones as well, which can be restored afterwards.
        instances: (await source.directory.list()).filter(({ state }) => state !== 'removing'),
        borrow: (entry) => source.instances.borrow(entry),
      },
      target,
      clock: systemClock,
      onProgress,
    });
  } finally {
    for (const end of ends) await end();
  }
}

function summaryText(moved: readonly MovedInstance[], { data, masterKey }: Config): string {
  const lines = moved.map(
    ({ slug, collections, records, pending }) =>
      `  ${slug}: ${counted(collections, 'collection')}, ${counted(records, 'record')}, ${counted(pending, 'pending webhook')}`,
  );
  const key =
    masterKey.text === undefined
      ? `--key-file ${masterKey.file ?? join(data, 'master.key')}`
      : 'CHANCERY_KEY';
  return [
    `Moved ${counted(moved.length, 'instance')}.`,
    ...lines,
    `Start the service with --postgres and the same master key: ${key}.`,
    `Do not start it on ${data} any more: webhooks would be sent twice. Keep that directory as a backup.`,
    '',
  ].join('\n');
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
