import { existsSync } from 'node:fs';
import { openDataDirectory, type DataDirectory } from '../app.ts';
import { AppError } from '../base/errors.ts';
import { ConfigError, readConfig, type Flags } from '../config.ts';
import { defaultSlug, type InstanceEntry } from '../instances/instance-directory.ts';
import type { Instance } from '../instances/instance.ts';

export interface OpeningOptions {
  /** For commands that create nothing: a missing data directory is an error instead of being created, as its name must be a mistake. */
  readonly mustExist?: boolean;
}

/** Opens the data directory for one command and closes it again. A server may run on it meanwhile. */
export async function withDataDirectory<Result>(
  flags: Flags,
  work: (data: DataDirectory) => Promise<Result>,
  { mustExist = false }: OpeningOptions = {},
): Promise<Result> {
  const config = readConfig(flags);
  if (mustExist && config.postgres === undefined && !existsSync(config.data))
    throw new ConfigError(`There is no data directory ${config.data}.`);
  // Only the server deletes old audit entries: commands may run without its `--audit-days`.
  const data = await openDataDirectory({ ...config, logLevel: 'error', auditDays: 0 }, {});
  try {
    return await work(data);
  } finally {
    await data.stop();
  }
}

/** As {@link withDataDirectory}, with the instance that `--instance` names. */
export function withInstance<Result>(
  flags: Flags,
  work: (instance: Instance, data: DataDirectory) => Promise<Result>,
  options: OpeningOptions = {},
): Promise<Result> {
  const slug = String(flags['instance'] ?? defaultSlug);
  const onSlug = async (data: DataDirectory): Promise<Result> => {
    const entry = data.directory.findBySlug(slug);
    if (entry === undefined) throw new AppError('not_found', `There is no instance ${slug}.`);
    return onInstance(data, entry, (instance) => work(instance, data));
  };
  return withDataDirectory(flags, onSlug, options);
}

/** Opens the instance for as long as the work takes. */
export async function onInstance<Result>(
  data: DataDirectory,
  entry: InstanceEntry,
  work: (instance: Instance) => Promise<Result>,
): Promise<Result> {
  const loan = await data.instances.borrow(entry);
  try {
    return await work(loan.instance);
  } finally {
    loan.release();
  }
}
