import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DataDirectory, onInstance, openDataDirectory, StartError } from '../../open-data-directory.ts';
import { codeOf } from '../../base/process.ts';
import { AppError } from '../../base/errors.ts';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { defaultSlug } from '../../instances/instance-directory.ts';
import type { Instance } from '../../instances/instance.ts';
import { configOf, flagsOf } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';

type Work<Result> = (data: DataDirectory) => Promise<Result>;
type InstanceWork<Result> = (instance: Instance, data: DataDirectory) => Promise<Result>;

/** What a command does where there is no data directory yet. One that was mistyped, or a refused command, must not make one. */
export type UnlessThere<Some> =
  /** For a command that creates nothing. */
  | 'fail'
  /** For a command that is to leave nothing behind: it works in a temporary data directory. */
  | 'work elsewhere'
  /** This, which throws what the command would be refused for, runs in a temporary data directory before the real one is made. */
  | { readonly rehearse: Some };

/** Opens the data directory for one command and closes it again. A server may run on it meanwhile. */
export async function withDataDirectory<Result>(
  config: Config,
  work: Work<Result>,
  unlessThere: UnlessThere<Work<unknown>>,
): Promise<Result> {
  if (unlessThere === 'fail') requireDataDirectory(config);
  if (hasData(config) || unlessThere === 'fail') return onData(config, work);
  if (unlessThere === 'work elsewhere') return elsewhere(config, work);
  await elsewhere(config, unlessThere.rehearse);
  return onData(config, work);
}

/** Throws StartError where there is no data directory. */
export function requireDataDirectory(config: Config): void {
  if (!hasData(config)) throw new StartError(`There is no data directory ${config.data}.`);
}

function hasData({ postgres, data }: Config): boolean {
  return postgres !== undefined || isDataDirectory(data);
}

/** An instance, and the data that it is in. */
export interface InstancePlace {
  readonly config: Config;
  readonly slug: string;
}

/** Returns the place of the instance that `--instance` names. */
export function placeOf(command: Command, io: CommandIo): InstancePlace {
  return { config: configOf(command, io), slug: String(flagsOf(command)['instance'] ?? defaultSlug) };
}

/** As {@link withDataDirectory}, with an instance. */
export function withInstance<Result>(
  { config, slug }: InstancePlace,
  work: InstanceWork<Result>,
  unlessThere: UnlessThere<InstanceWork<unknown>>,
): Promise<Result> {
  return withDataDirectory(
    config,
    onSlug(slug, work),
    typeof unlessThere === 'string' ? unlessThere : { rehearse: onSlug(slug, unlessThere.rehearse) },
  );
}

function onSlug<Result>(slug: string, work: InstanceWork<Result>): Work<Result> {
  return async (data) => {
    const entry = data.directory.findBySlug(slug);
    if (entry === undefined) throw new AppError('not_found', `There is no instance ${slug}.`);
    return onInstance(data, entry, (instance) => work(instance, data));
  };
}

async function onData<Result>(config: Config, work: Work<Result>): Promise<Result> {
  // Only the server deletes old audit entries: commands may run without its `--audit-days`.
  const data = await openDataDirectory({ ...config, logLevel: 'error', auditDays: 0 }, {});
  try {
    return await work(data);
  } finally {
    await data.stop();
  }
}

async function elsewhere<Result>(config: Config, work: Work<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-rehearsal-'));
  try {
    const files = { folder: join(folder, 'instances'), isExplicit: false };
    return await onData({ ...config, data: folder, files }, work);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** True for a directory with data, even if a part of it is missing or cannot be read: opening it says what is wrong. */
function isDataDirectory(path: string): boolean {
  if (existsSync(join(path, 'control.db'))) return true;
  try {
    return readdirSync(join(path, 'instances')).length > 0;
  } catch (error) {
    return codeOf(error) !== 'ENOENT';
  }
}
