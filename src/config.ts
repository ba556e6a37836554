import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cidr, parseCidr } from './base/ip-address.ts';
import { clientFlags, dataFlags, type FlagDefinition, serverFlags, variableOf } from './config-flags.ts';
import { loopbackRanges, type NetworkPolicy } from './network/address-guard.ts';

/** What the operator decides, read once and checked. app.ts hands its values to the other parts. */
export interface Config {
  /** The data directory. */
  readonly data: string;
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly dev: boolean;
  readonly policy: NetworkPolicy;
  /** A PostgreSQL database in place of the data directory. */
  readonly postgres: { readonly url: string; readonly allowUnsafe: boolean } | undefined;
  /** Where files of records are kept, and whether the operator has named the folder, as for several nodes. */
  readonly files: { readonly folder: string; readonly isGiven: boolean };
  readonly strictHosts: boolean;
  readonly trustedProxies: readonly Cidr[];
  readonly tls: { readonly certificate: string; readonly key: string } | undefined;
  readonly masterKey: { readonly text: string | undefined; readonly file: string | undefined };
  readonly corsOrigins: readonly string[];
  readonly stopTimeoutMs: number;
  readonly queryTimeoutMs: number;
  /** How many copies of each file are kept as it was before an upgrade. */
  readonly upgradeCopiesMax: number;
  /** Days that audit entries are kept; 0 keeps them for ever. */
  readonly auditDays: number;
  /** Days that events, deliveries and attempts are kept; 0 keeps them for ever. */
  readonly webhookDays: number;
  /** How many attempts of webhooks may be open at once. */
  readonly webhookSlots: number;
  /** Larger bodies of webhooks are sent with the id of the record alone. */
  readonly webhookBodyBytesMax: number;
  /** How many realtime connections an instance may have, and how many of them one address. */
  readonly realtimeConnections: number;
  readonly realtimeConnectionsPerAddress: number;
  /** Where metrics are served besides the API; undefined for nowhere. 0 takes a free port. */
  readonly metrics: { readonly host: string; readonly port: number } | undefined;
  /** Whether each request is a line of the standard output. */
  readonly accessLog: boolean;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

/** With fewer, the shares of instances and endpoints would be of less than one attempt. */
const webhookSlotsMin = 16;

/** A flag or environment variable is wrong. The message is one line for the operator. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** What was given on the command line, by name; switches are true. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>;
/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads each value from the flags, else from the environment, else from the defaults. Throws ConfigError. */
export function readConfig(flags: Flags, environment: Environment = process.env): Config {
  const read = readerOf(flags, environment);
  const dev = readSwitch('dev', read('dev'));
  return {
    data: read('data') ?? '',
    host: read('host') ?? '',
    port: readInteger('port', read('port'), { max: 65_535 }),
    dev,
    policy: { ...readPolicy(dev, read('allow-net')), allowedPorts: readPorts(read('allow-ports')) },
    postgres: readPostgres(read),
    files: readFiles(read),
    trustedProxies: readRanges('trusted-proxies', read('trusted-proxies')),
    strictHosts: readSwitch('strict-hosts', read('strict-hosts')),
    tls: readTls(read('tls-cert'), read('tls-key')),
    masterKey: { text: environment['CHANCERY_KEY'] || undefined, file: read('key-file') },
    corsOrigins: readOrigins(read('cors-origins')),
    upgradeCopiesMax: readInteger('keep-upgrade-copies', read('keep-upgrade-copies'), { max: 100 }),
    stopTimeoutMs: readInteger('stop-timeout', read('stop-timeout'), { max: 3_600 }) * 1_000,
    queryTimeoutMs: readSeconds('query-timeout', read('query-timeout'), 60) * 1_000,
    webhookSlots: readInteger('webhook-slots', read('webhook-slots'), { min: webhookSlotsMin, max: 65_536 }),
    webhookBodyBytesMax:
      readInteger('webhook-body-max', read('webhook-body-max'), { min: 1, max: 4_096 }) * 1024,
    realtimeConnections: readInteger('realtime-connections', read('realtime-connections'), { max: 100_000 }),
    realtimeConnectionsPerAddress: readInteger(
      'realtime-connections-per-address',
      read('realtime-connections-per-address'),
      { max: 100_000 },
    ),
    webhookDays: readInteger('webhook-days', read('webhook-days'), { max: 36_500 }),
    auditDays: readInteger('audit-days', read('audit-days'), { max: 36_500 }),
    metrics: readMetrics(read),
    accessLog: readSwitch('access-log', read('access-log')),
    logLevel: readLevel(read('log-level')),
  };
}

type ReadValue = (name: string) => string | undefined;

function readerOf(flags: Flags, environment: Environment): ReadValue {
  return (name) => {
    const flag = flags[name];
    if (flag !== undefined) return readFlag(name, flag);
    const variable = environment[variableOf(name)];
    return variable === undefined || variable === '' ? fallbackOf(name) : variable;
  };
}

/** How a command reaches what it works on: a service by its URL, or data of this machine. */
export interface ClientConfig {
  /** `service` or `data` where one of them was named, by the nearest source that names any: flags, then the environment. */
  readonly kind: 'service' | 'data' | undefined;
  readonly url: string | undefined;
  readonly profile: string | undefined;
  readonly token: string | undefined;
  /** The slug; undefined where none was given. */
  readonly instance: string | undefined;
  /** The folder for files of this user, where profiles are kept; undefined where the environment names no home. */
  readonly folder: string | undefined;
}

/** Reads what reaches a service. Throws ConfigError. */
export function readClient(flags: Flags, environment: Environment = process.env): ClientConfig {
  const read = readerOf(flags, environment);
  const names = (name: string): boolean => flags[name] !== undefined;
  const isSet = (name: string): boolean => (environment[variableOf(name)] ?? '') !== '';
  const [toService, toData] = [
    ['url', 'profile'],
    ['data', 'postgres', 'postgres-file'],
  ];
  if (toService?.some(names) && toData?.some(names))
    throw new ConfigError(
      'A service (--url, --profile) and data of this machine were named: give one of them.',
    );
  const kindBy = (isNamed: (name: string) => boolean): ClientConfig['kind'] =>
    toService?.some(isNamed) ? 'service' : toData?.some(isNamed) ? 'data' : undefined;
  const file = read('token-file');
  const given = read('token');
  if (names('token') && names('token-file'))
    throw new ConfigError('--token and --token-file are the same thing: give one of them.');
  return {
    kind: kindBy(names) ?? kindBy(isSet),
    url: read('url'),
    profile: read('profile'),
    token:
      file !== undefined && (given === undefined || names('token-file'))
        ? readText('token-file', file)
        : given,
    instance: read('instance'),
    folder: userFolder(environment),
  };
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

/** Refuses an empty value: `--host "$HOST"` leaves one when the variable is unset, and an empty host would listen on all addresses. */
function readFlag(name: string, flag: string | boolean): string {
  if (flag === '' && !isList(name))
    throw new ConfigError(`--${name} is empty: give it a value, or leave it out.`);
  return String(flag);
}

/** True for a flag that takes a list. Lists may be empty: `--cors-origins ''` lets no web page in. */
function isList(name: string): boolean {
  return definitionOf(name)?.value?.endsWith(',…') === true;
}

function fallbackOf(name: string): string | undefined {
  return definitionOf(name)?.fallback;
}

function definitionOf(name: string): FlagDefinition | undefined {
  return [...dataFlags, ...clientFlags, ...serverFlags].find((flag) => flag.name === name);
}

/** Reads seconds with up to three decimals, above 0. */
function readSeconds(name: string, text: string | undefined, max: number): number {
  const seconds = /^\d{1,6}(?:\.\d{1,3})?$/.test(text ?? '') ? Number(text) : 0;
  if (seconds > 0 && seconds <= max) return seconds;
  throw new ConfigError(`--${name} takes seconds, up to ${max}, not ${JSON.stringify(text)}.`);
}

function readSwitch(name: string, text: string | undefined): boolean {
  if (text === undefined || text === 'false' || text === '0') return false;
  if (text === 'true' || text === '1') return true;
  throw new ConfigError(`--${name} is on or off: expected true or false, not ${JSON.stringify(text)}.`);
}

interface Range {
  readonly min?: number;
  readonly max: number;
}

function readInteger(name: string, text: string | undefined, { min = 0, max }: Range): number {
  const value = /^\d{1,6}$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new ConfigError(
    `--${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`,
  );
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

function readPostgres(read: (name: string) => string | undefined): Config['postgres'] {
  const file = read('postgres-file');
  const given = read('postgres');
  if (file !== undefined && given !== undefined) {
    throw new ConfigError('--postgres and --postgres-file are the same thing: give one of them.');
  }
  const url = given ?? (file === undefined ? undefined : readText('postgres-file', file));
  if (url === undefined) return undefined;
  // The URL itself is not shown: it may hold a password.
  if (!/^postgres(?:ql)?:\/\//.test(url))
    throw new ConfigError('--postgres must be a URL like postgres://user@host/database.');
  return { url, allowUnsafe: readSwitch('allow-unsafe-postgres', read('allow-unsafe-postgres')) };
}

function readFiles(read: (name: string) => string | undefined): Config['files'] {
  const folder = read('files');
  return { folder: folder ?? join(read('data') ?? '', 'instances'), isGiven: folder !== undefined };
}

function readMetrics(read: ReadValue): Config['metrics'] {
  const port = read('metrics-port');
  if (port === undefined) return undefined;
  return { host: read('metrics-host') ?? '', port: readInteger('metrics-port', port, { max: 65_535 }) };
}

function readText(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`--${name}: ${reason}`, { cause: error });
  }
}

function readTls(certificate: string | undefined, key: string | undefined): Config['tls'] {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  throw new ConfigError('--tls-cert and --tls-key are given together or not at all.');
}

function readLevel(text: string | undefined): Config['logLevel'] {
  if (text === 'debug' || text === 'info' || text === 'warn' || text === 'error') return text;
  throw new ConfigError(`--log-level must be debug, info, warn or error, not ${JSON.stringify(text)}.`);
}

function listOf(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
