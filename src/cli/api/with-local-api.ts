import { operatorOf } from '../../open-operator.ts';
import { systemClock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { Logger, LogMembers } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import { requestInMemory } from '../../http/server/request-in-memory.ts';
import { type DataDirectory, openDataDirectory } from '../../open-data-directory.ts';
import { type Api, apiOver, type Transport } from './api.ts';
import { operatorMessage } from '../terminal/exit-code.ts';
import { type LocalService, openLocalService } from './local-service.ts';
import { type CommandIo, note } from '../terminal/print.ts';
import { type InstancePlace, requireDataDirectory, withDataDirectory } from './with-instance.ts';

/** Runs `work` with the Api of an instance in data of this machine. Throws StartError where there is none. */
export function withLocalApi<Result>(
  { config, slug }: InstancePlace,
  io: CommandIo,
  work: (api: Api) => Promise<Result>,
): Promise<Result> {
  return onLocalData(config, io, async (data, logger) => {
    if (data.directory.findBySlug(slug) === undefined)
      throw new AppError('not_found', `There is no instance ${slug}.`);
    const named = slug === 'default' ? placeOf(config) : `the instance ${slug} of ${placeOf(config)}`;
    const service = await openLocalService(data, config, { logger });
    return onService(service, work, { place: named, prefix: `/i/${slug}` });
  });
}

/** How a command uses the Api of the operator on data of this machine. */
export interface LocalOperatorUse {
  /** It may make the data directory: its work runs in a temporary one before. */
  readonly isCreating?: boolean;
  /** It waits for schema jobs, which no server may take up. */
  readonly takesUpJobs?: boolean;
}

/** As {@link withLocalApi}, with the Api of the operator. */
export function withLocalOperatorApi<Result>(
  { config, io, isCreating = false, takesUpJobs = false }: LocalOperatorUse & OperatorPlace,
  work: (api: Api) => Promise<Result>,
): Promise<Result> {
  const onData = async (data: DataDirectory, logger = errorLogger(io)): Promise<Result> => {
    const operator = operatorOf({ ...config, auditDays: 0 }, data, { clock: systemClock, logger });
    const service = await openLocalService(data, config, { logger, operator, takesUpJobs });
    try {
      return await onService(service, work, { place: placeOf(config), prefix: '' });
    } finally {
      await operator.dispatcher.stop(0);
    }
  };
  return isCreating
    ? withDataDirectory(config, (data) => onData(data), { rehearse: (data) => onData(data) })
    : onLocalData(config, io, onData);
}

interface OperatorPlace {
  readonly config: Config;
  readonly io: CommandIo;
}

async function onLocalData<Result>(
  config: Config,
  io: CommandIo,
  work: (data: DataDirectory, logger: Logger) => Promise<Result>,
): Promise<Result> {
  requireDataDirectory(config);
  const logger = errorLogger(io);
  // Only the server deletes old audit entries: commands may run without its `--audit-days`.
  const data = await openDataDirectory({ ...config, auditDays: 0 }, { logger });
  try {
    return await work(data, logger);
  } finally {
    await data.stop();
  }
}

function placeOf({ postgres, data }: Config): string {
  return postgres === undefined ? `the data directory ${data}` : 'the PostgreSQL database';
}

async function onService<Result>(
  service: LocalService,
  work: (api: Api) => Promise<Result>,
  { place, prefix }: { readonly place: string; readonly prefix: string },
): Promise<Result> {
  try {
    const transport: Transport = (request) =>
      requestInMemory(service.connect, { ...request, path: `${prefix}${request.path}` });
    return await work(apiOver(place, transport));
  } finally {
    await service.stop();
  }
}

/** Tells of failures on standard error: standard output is what the command has to say. */
function errorLogger(io: CommandIo): Logger {
  const nothing = (): void => undefined;
  const error = (message: string, { error: cause }: LogMembers = {}): void =>
    note(io, `chancery: ${message}${cause === undefined ? '' : ` ${operatorMessage(cause)}`}\n`);
  return { debug: nothing, info: nothing, warn: nothing, error };
}
