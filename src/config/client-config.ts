import { join } from 'node:path';
import { ConfigError } from './config-error.ts';
import {
  type ConfigFile,
  type Environment,
  environmentOf,
  findValue,
  type Flags,
  namingSource,
  readSecret,
  sourceOf,
  type Sources,
  valueIn,
  type ValueSource,
} from './config.ts';

/** The target of a command: a service by its URL, or data of this machine. */
export interface ClientConfig {
  /** `service` or `data` where one of them was named, by the nearest source that names any: flags, then the environment. */
  readonly kind: 'service' | 'data' | undefined;
  readonly url: string | undefined;
  /** The URL is that of a chancery.toml which was found, not named: it must get no password without its user seeing it. */
  readonly isFromFolder: boolean;
  readonly profile: string | undefined;
  readonly token: string | undefined;
  /** The slug; undefined where none was named. */
  readonly instance: string | undefined;
  /** The folder for files of this user, where profiles are kept; undefined where the environment names no home. */
  readonly folder: string | undefined;
}

/** Reads what reaches a service. Throws ConfigError. */
export function readClient(flags: Flags, environment?: Environment, file?: ConfigFile): ClientConfig {
  const sources = { flags, environment, file };
  return namingSource(sources, () => decodeClient(sources));
}

const toService = ['url', 'profile'];
const toData = ['data', 'postgres', 'postgres-file'];

function decodeClient(sources: Sources): ClientConfig {
  const has = (source: ValueSource, names: readonly string[]): boolean =>
    names.some((name) => valueIn(sources, source, name) !== undefined);
  if (has('flag', toService) && has('flag', toData))
    throw new ConfigError(
      'A service (--url, --profile) and data of this machine were named: name only one of them.',
    );
  const nearest = sourceOf(sources, [...toService, ...toData]);
  const service = sourceOf(sources, toService);
  requireTrusted(sources, service);
  return {
    kind: nearest === undefined ? undefined : has(nearest, toService) ? 'service' : 'data',
    url: service && valueIn(sources, service, 'url'),
    isFromFolder: service === 'file' && sources.file?.isNamed === false,
    profile: service && valueIn(sources, service, 'profile'),
    token: readSecret(sources, 'token'),
    instance: findValue(sources, 'instance')?.text,
    folder: userFolder(environmentOf(sources)),
  };
}

/**
 * Refuses options by which a chancery.toml in a foreign folder could steal a secret: its URL would be sent a token of the user, or a file of
 * theirs as one.
 */
function requireTrusted(sources: Sources, service: ValueSource | undefined): void {
  const { file } = sources;
  if (file === undefined || file.isNamed) return;
  const why = `${file.path} is only in the working directory: name it by --config if you trust it`;
  if (file.values.has('token-file')) throw new ConfigError(`--token-file would be sent, and ${why}.`);
  const token = sourceOf(sources, ['token', 'token-file']);
  if (service !== 'file' || !file.values.has('url') || token === undefined || token === 'file') return;
  throw new ConfigError(`--token would be sent to the URL in ${file.path}, and ${why}, or give --url too.`);
}

/** Returns the folder for this program's files of a user, by the XDG base directory specification. */
function userFolder({
  XDG_CONFIG_HOME: config,
  HOME: home,
  APPDATA: windows,
}: Environment): string | undefined {
  const folder = config || windows || (home && join(home, '.config'));
  return folder ? join(folder, 'chancery') : undefined;
}
