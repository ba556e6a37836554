import { AppError } from '../../base/errors.ts';
import type { Logger, LogMembers } from '../../base/logger.ts';
import { requestInMemory } from '../../http/server/request-in-memory.ts';
import { openDataDirectory } from '../../open-data-directory.ts';
import { type Api, apiOver, type Transport } from './api.ts';
import { operatorMessage } from '../terminal/exit-code.ts';
import { openLocalService } from './local-service.ts';
import { type CommandIo, note } from '../terminal/print.ts';
import { type InstancePlace, requireDataDirectory } from './with-instance.ts';

/** Runs `work` with the Api of an instance in data of this machine. Throws StartError where there is none. */
export async function withLocalApi<Result>(
  { config, slug }: InstancePlace,
  io: CommandIo,
  work: (api: Api) => Promise<Result>,
): Promise<Result> {
  requireDataDirectory(config);
  const logger = errorLogger(io);
  // Only the server deletes old audit entries: commands may run without its `--audit-days`.
  const data = await openDataDirectory({ ...config, auditDays: 0 }, { logger });
  try {
    if (data.directory.findBySlug(slug) === undefined)
      throw new AppError('not_found', `There is no instance ${slug}.`);
    const service = await openLocalService(data, config, logger);
    const place =
      config.postgres === undefined ? `the data directory ${config.data}` : 'the PostgreSQL database';
    const named = slug === 'default' ? place : `the instance ${slug} of ${place}`;
    try {
      const transport: Transport = (request) =>
        requestInMemory(service.connect, { ...request, path: `/i/${slug}${request.path}` });
      return await work(apiOver(named, transport));
    } finally {
      await service.stop();
    }
  } finally {
    await data.stop();
  }
}

/** Tells of failures on standard error: standard output is what the command has to say. */
function errorLogger(io: CommandIo): Logger {
  const nothing = (): void => undefined;
  const error = (message: string, { error: cause }: LogMembers = {}): void =>
    note(io, `chancery: ${message}${cause === undefined ? '' : ` ${operatorMessage(cause)}`}\n`);
  return { debug: nothing, info: nothing, warn: nothing, error };
}
