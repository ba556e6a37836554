import { join } from 'node:path';
import { unreachable } from '../base/assert.ts';
import { type Cidr, parseCidr } from '../base/ip-address.ts';
import { parseByteSize } from '../base/parse-byte-size.ts';
import { type BackupConfig, readBackups } from './backup-config.ts';
import { ConfigError } from './config-error.ts';
import { readEgress } from './read-egress.ts';
import { listOf, readHours, readInteger, readSeconds, readSwitch, readText } from './read-values.ts';
import { allOptions, configFlag, type FlagDefinition, variableOf } from './config-flags.ts';
import { nearestName } from '../fields/field-error.ts';
import type { DiskFolders, DiskPart } from '../limits/disk-space.ts';
import { loopbackRanges, type NetworkPolicy } from '../network/address-guard.ts';
import type { Egress } from '../network/proxy-tunnel.ts';

/** What the operator decides, read once and checked. app.ts hands its values to the other parts. */
export interface Config {
  /** The data directory. */
  readonly data: string;
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly dev: boolean;
  readonly policy: NetworkPolicy;
  readonly egress: Egress;
  /** A PostgreSQL database in place of the data directory. */
  readonly postgres: { readonly url: string; readonly allowUnsafe: boolean } | undefined;
  /** Where files of records are kept, and whether the operator has named the folder, as for several nodes. */
  readonly files: { readonly folder: string; readonly isExplicit: boolean };
  readonly strictHosts: boolean;
  readonly trustedProxies: readonly Cidr[];
  readonly tls: { readonly certificate: string; readonly key: string } | undefined;
  readonly masterKey: { readonly text: string | undefined; readonly file: string | undefined };
  readonly corsOrigins: readonly string[];
  readonly stopTimeoutMs: number;
  readonly queryTimeoutMs: number;
  /** How long a start waits for nodes of an older version to stop. */
  readonly upgradeWaitMs: number;
  /** How often everything that is stored is searched for damage; 0 for never. */
  readonly checkIntervalMs: number;
  /** How many copies of each file are kept as it was before an upgrade. */
  readonly upgradeCopiesMax: number;
  /** Days that audit entries are kept; 0 keeps them for ever. */
  readonly auditDays: number;
  /** Days that deleted instances can be restored. */
  readonly deletedDays: number;
  /** Days that events, deliveries and attempts are kept; 0 keeps them for ever. */
  readonly webhookDays: number;
  /** How large the logs of events of all instances may be together; undefined for any size. */
  readonly webhookBytes: DiskPart | undefined;
  /** How many threads run the instances; 0 for the one that takes requests, `auto` for that one until a second instance is used. */
  readonly hostThreads: number | 'auto';
  /** How many attempts of webhooks may be open at once. */
  readonly webhookSlots: number;
  /** Larger bodies of webhooks are sent with the id of the record alone. */
  readonly webhookBodyBytesMax: number;
  /** How many realtime connections an instance may have, and how many of them one address. */
  readonly realtimeConnections: number;
  readonly realtimeConnectionsPerAddress: number;
  /** Of bodies and answers in memory, of all clients together. */
  readonly answerMemoryBytes: number;
  /** Where instances take room on disks of the service, and how much of these is reserved. */
  readonly disks: DiskFolders;
  readonly backups: BackupConfig;
  /** Where metrics are served besides the API; undefined for nowhere. 0 selects a free port. */
  readonly metrics:
    { readonly host: string; readonly port: number; readonly names: readonly string[] } | undefined;
  /** Whether each request is a line of the standard output. */
  readonly accessLog: boolean;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

const hostThreadsMax = 64;

/** With fewer, the shares of instances and endpoints would be of less than one attempt. */
const webhookSlotsMin = 16;

/** The options of the command line, by name; switches are true. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>;
/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A file of options, of which each is a line. */
export interface ConfigFile {
  readonly path: string;
  /** Whether the operator has named it, rather than that it lies in the working directory. */
  readonly isNamed: boolean;
  /** As texts, by the names of the options. */
  readonly values: ReadonlyMap<string, string>;
}

/** Where values come from, the first of which wins. */
export const valueSources = ['flag', 'environment', 'file'] as const;

export type ValueSource = (typeof valueSources)[number];

/** What {@link readConfig} and {@link readClient} read. */
export interface Sources {
  readonly flags: Flags;
  /** The variables of the process by default. */
  readonly environment?: Environment | undefined;
  readonly file?: ConfigFile | undefined;
}

export interface SourcedValue {
  readonly text: string;
  readonly source: ValueSource | 'default';
}

/** Returns the value of an option and where it is from; undefined for one that is nowhere and has no default. Throws ConfigError. */
export function findValue(sources: Sources, name: string): SourcedValue | undefined {
  for (const source of valueSources) {
    const text = valueIn(sources, source, name);
    if (text !== undefined) return { text, source };
  }
  const fallback = definitionOf(name)?.fallback;
  return fallback === undefined ? undefined : { text: fallback, source: 'default' };
}

/** Returns the environment variables: those of the process by default. */
export function environmentOf({ environment = process.env }: Sources): Environment {
  return environment;
}

/** Returns the value that one source has for an option. An empty variable is none, as a variable cannot always be taken away. */
export function valueIn(sources: Sources, source: ValueSource, name: string): string | undefined {
  switch (source) {
    case 'flag': {
      const flag = sources.flags[name];
      return flag === undefined ? undefined : readFlag(name, flag);
    }
    case 'environment':
      return environmentOf(sources)[variableOf(name)] || undefined;
    case 'file':
      return sources.file?.values.get(name);
    default:
      return unreachable(source);
  }
}

/** Returns the path of the file that the operator has named; undefined where none was. */
export function configPath(sources: Sources): string | undefined {
  return valueIn(sources, 'flag', configFlag.name) ?? valueIn(sources, 'environment', configFlag.name);
}

/** Reads each value from the first source that has it, else from the defaults. Throws ConfigError. */
export function readConfig(flags: Flags, environment?: Environment, file?: ConfigFile): Config {
  const sources = { flags, environment, file };
  return namingSource(sources, () => decodeConfig(sources));
}

function decodeConfig(sources: Sources): Config {
  const read: ReadValue = (name) => findValue(sources, name)?.text;
  const dev = readSwitch('dev', read('dev'));
  return {
    data: read('data') ?? '',
    host: read('host') ?? '',
    port: readInteger('port', read('port'), { max: 65_535 }),
    dev,
    policy: { ...readPolicy(dev, read('allow-net')), allowedPorts: readPorts(read('allow-ports')) },
    egress: readEgress(read),
    postgres: readPostgres(sources),
    files: readFiles(read),
    trustedProxies: readRanges('trusted-proxies', read('trusted-proxies')),
    strictHosts: readSwitch('strict-hosts', read('strict-hosts')),
    tls: readTls(read('tls-cert'), read('tls-key')),
    masterKey: readMasterKey(sources),
    corsOrigins: readOrigins(read('cors-origins')),
    upgradeCopiesMax: readInteger('keep-upgrade-copies', read('keep-upgrade-copies'), { max: 100 }),
    upgradeWaitMs: readInteger('upgrade-wait', read('upgrade-wait'), { max: 86_400 }) * 1_000,
    checkIntervalMs: readHours('check-hours', read('check-hours'), 8_760) * 3_600_000,
    stopTimeoutMs: readInteger('stop-timeout', read('stop-timeout'), { max: 3_600 }) * 1_000,
    queryTimeoutMs: readSeconds('query-timeout', read('query-timeout'), 60) * 1_000,
    hostThreads: readHostThreads(read),
    webhookSlots: readInteger('webhook-slots', read('webhook-slots'), { min: webhookSlotsMin, max: 65_536 }),
    webhookBodyBytesMax:
      readInteger('webhook-body-max', read('webhook-body-max'), { min: 1, max: 4_096 }) * 1024,
    answerMemoryBytes:
      readInteger('answer-memory', read('answer-memory'), { min: 64, max: 65_536 }) * 1024 * 1024,
    disks: readDisks(sources),
    realtimeConnections: readInteger('realtime-connections', read('realtime-connections'), { max: 100_000 }),
    realtimeConnectionsPerAddress: readInteger(
      'realtime-connections-per-address',
      read('realtime-connections-per-address'),
      { max: 100_000 },
    ),
    webhookBytes: readLogSize(read('webhook-bytes'), readPostgres(sources) !== undefined),
    webhookDays: readInteger('webhook-days', read('webhook-days'), { max: 36_500 }),
    auditDays: readInteger('audit-days', read('audit-days'), { max: 36_500 }),
    deletedDays: readInteger('deleted-days', read('deleted-days'), { max: 36_500 }),
    backups: readBackups(read, readSecret(sources, 'backup-s3-secret')),
    metrics: readMetrics(read),
    accessLog: readSwitch('access-log', read('access-log')),
    logLevel: readLevel(read('log-level')),
  };
}

/** Nodes on PostgreSQL are hosts themselves: there are more of them instead of threads. */
function readHostThreads(read: ReadValue): number | 'auto' {
  const text = read('host-threads');
  const isPostgres = (read('postgres') ?? read('postgres-file')) !== undefined;
  if (text === 'auto') return isPostgres ? 0 : 'auto';
  const threads = readInteger('host-threads', text, { max: hostThreadsMax });
  if (threads > 0 && isPostgres)
    throw new ConfigError('--host-threads is for SQLite: with PostgreSQL, run more nodes.');
  return threads;
}

/** The disk of a database is not ours to see. */
function readDisks(sources: Sources): DiskFolders {
  const read: ReadValue = (name) => findValue(sources, name)?.text;
  const data = readPostgres(sources) === undefined ? read('data') : undefined;
  return { data, files: readFiles(read).folder, reserve: readDiskReserve(read('disk-reserve')) };
}

function readDiskReserve(text = ''): DiskPart {
  return text === '' ? { percent: 5, bytesMax: 10 * 1024 ** 3 } : readDiskPart('disk-reserve', text);
}

/** The disk of a database is not ours to see, so that there a size is needed. */
function readLogSize(text = '', isPostgres = false): DiskPart | undefined {
  if (text === '') return isPostgres ? undefined : { percent: 10, bytesMax: Number.MAX_SAFE_INTEGER };
  const part = readDiskPart('webhook-bytes', text);
  if (isPostgres && part.percent < 100)
    throw new ConfigError('--webhook-bytes is a size as 10GiB with PostgreSQL, whose disk cannot be seen.');
  return part.bytesMax === 0 || part.percent === 0 ? undefined : part;
}

/** Reads a size, or a part of the disk. */
function readDiskPart(name: string, text: string): DiskPart {
  const [, percent] = /^(\d{1,2})%$/.exec(text) ?? [];
  if (percent !== undefined) return { percent: Number(percent), bytesMax: Number.MAX_SAFE_INTEGER };
  const bytesMax = parseByteSize(text);
  if (bytesMax !== undefined) return { percent: 100, bytesMax };
  throw new ConfigError(
    `--${name} is a size as 10GiB, or a part of the disk as 5%, not ${JSON.stringify(text)}.`,
  );
}

type ReadValue = (name: string) => string | undefined;

/** Runs a reader of sources. An error names the flag, and the source of the value where it is another. */
export function namingSource<Result>(sources: Sources, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [, name = ''] = /^--([a-z-]+)/.exec(error.message) ?? [];
    const place = placeOf(sources, name);
    if (place === undefined) throw error;
    throw new ConfigError(`${error.message.replace(/\.$/, '')} (${place}).`, { cause: error });
  }
}

/** Says where the value of an option was set, if it was not by its flag. */
function placeOf(sources: Sources, name: string): string | undefined {
  const source = valueSources.find((one) => valueIn(sources, one, name) !== undefined);
  if (source === 'environment') return `the variable ${variableOf(name)}`;
  return source === 'file' ? `${name} in ${sources.file?.path}` : undefined;
}

/** Returns the first source that has a value for one of the options. */
export function sourceOf(sources: Sources, names: readonly string[]): ValueSource | undefined {
  return valueSources.find((source) => names.some((name) => valueIn(sources, source, name) !== undefined));
}

/** Returns a value, or the content of the file that holds it, from the first source that has either. Throws ConfigError for both. */
export function readSecret(sources: Sources, name: string): string | undefined {
  const source = sourceOf(sources, [name, `${name}-file`]);
  if (source === undefined) return undefined;
  const [text, file] = [valueIn(sources, source, name), valueIn(sources, source, `${name}-file`)];
  if (text !== undefined && file !== undefined)
    throw new ConfigError(`--${name} and --${name}-file are the same thing: give one of them.`);
  return file === undefined ? text : readText(`${name}-file`, file);
}

/** Refuses an empty value: `--host "$HOST"` leaves one when the variable is unset, and an empty host would listen on all addresses. */
function readFlag(name: string, flag: string | boolean): string {
  if (flag === '' && !isList(name))
    throw new ConfigError(`--${name} is empty: give it a value, or leave it out.`);
  return String(flag);
}

/** True for a flag whose value is a list. Lists may be empty: `--cors-origins ''` lets no web page in. */
function isList(name: string): boolean {
  return definitionOf(name)?.value?.endsWith(',…') === true;
}

function definitionOf(name: string): FlagDefinition | undefined {
  return allOptions.find((flag) => flag.name === name);
}

function readPolicy(dev: boolean, networks: string | undefined): NetworkPolicy {
  const allowed = readRanges('allow-net', networks);
  return { allowHttp: dev, allowed: dev ? [...loopbackRanges, ...allowed] : allowed };
}

function readPorts(text: string | undefined): readonly number[] {
  return listOf(text).map((item) => {
    const port = /^\d{1,5}$/.test(item) ? Number(item) : 0;
    if (port >= 1 && port <= 65_535) return port;
    throw new ConfigError(`--allow-ports takes ports from 1 to 65535, not ${JSON.stringify(item)}.`);
  });
}

function readRanges(name: string, text: string | undefined): readonly Cidr[] {
  try {
    return listOf(text).map(parseCidr);
  } catch (error) {
    throw new ConfigError(`--${name}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Any origin; that of a page without one; that of a page in a file, which app shells send. */
const special = ['*', 'null', 'file://'];

/** Accepts origins only as browsers send them: the header is compared character by character, so another form would never match. */
function readOrigins(text: string | undefined): readonly string[] {
  const origins = listOf(text);
  const wrong = origins.find((origin) => !special.includes(origin) && !isOrigin(origin));
  if (wrong === undefined) return origins;
  throw new ConfigError(
    `--cors-origins: expected an origin as browsers send it, like https://app.example.com, found ${JSON.stringify(wrong)}.`,
  );
}

function isOrigin(text: string): boolean {
  // A URL may contain an asterisk; here it would look like a pattern.
  if (text.includes('*')) return false;
  const url = URL.parse(text);
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url.origin === text;
  // By the URL standard, apps and extensions (capacitor://localhost) have no origin, yet they send scheme and host as one.
  return /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@]+$/.test(text);
}

/** Returns the key and its file. With both, opening them refuses: a key that is not the meant one is noticed late. */
function readMasterKey(sources: Sources): Config['masterKey'] {
  const names = ['key', 'key-file'];
  const isNearer = sourceOf({ ...sources, file: undefined }, names) !== undefined;
  const [text, file] = names.map(
    (name) => findValue(isNearer ? { ...sources, file: undefined } : sources, name)?.text,
  );
  return { text, file };
}

function readPostgres(sources: Sources): Config['postgres'] {
  const url = readSecret(sources, 'postgres');
  if (url === undefined) return undefined;
  // The URL itself is not shown: it may hold a password.
  if (!/^postgres(?:ql)?:\/\//.test(url))
    throw new ConfigError('--postgres must be a URL like postgres://user@host/database.');
  return {
    url,
    allowUnsafe: readSwitch('allow-unsafe-postgres', findValue(sources, 'allow-unsafe-postgres')?.text),
  };
}

function readFiles(read: (name: string) => string | undefined): Config['files'] {
  const folder = read('files');
  return { folder: folder ?? join(read('data') ?? '', 'instances'), isExplicit: folder !== undefined };
}

function readMetrics(read: ReadValue): Config['metrics'] {
  const port = read('metrics-port');
  if (port === undefined) return undefined;
  const names = listOf(read('metrics-names')).map((name) => name.toLowerCase());
  const wrong = names.find((name) => !/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name));
  if (wrong !== undefined)
    throw new ConfigError(`--metrics-names: expected names of hosts, found ${JSON.stringify(wrong)}.`);
  return {
    host: read('metrics-host') ?? '',
    port: readInteger('metrics-port', port, { max: 65_535 }),
    names,
  };
}

function readTls(certificate: string | undefined, key: string | undefined): Config['tls'] {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  throw new ConfigError('--tls-cert and --tls-key must be set together.');
}

function readLevel(text = ''): Config['logLevel'] {
  if (text === 'debug' || text === 'info' || text === 'warn' || text === 'error') return text;
  const suggestion = nearestName(text, definitionOf('log-level')?.choices ?? []);
  const hint = suggestion === undefined ? '' : `: did you mean ${suggestion}?`;
  throw new ConfigError(
    `--log-level must be debug, info, warn or error, not ${JSON.stringify(text)}${hint || '.'}`,
  );
}
