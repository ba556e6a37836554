import { startApp, type App } from './app.ts';
import { listSuperusers, upsertSuperuser } from './auth/superuser.ts';
import { dataFlags, serverFlags } from './config/config-flags.ts';
import { ConfigError } from './config/config-error.ts';
import { type Flags, readConfig } from './config/config.ts';
import { defaultSlug } from './instances/instance-directory.ts';

/**
 * What a program may decide that runs Chancery inside itself: the flags of `chancery serve`, in camel case. What is left out is as
 * without the flag. The environment is not read.
 */
export interface StartOptions {
  /** The data directory; `data` in the working directory unless given. Chancery makes it if it does not exist. */
  readonly data?: string;
  /** `127.0.0.1` unless given. */
  readonly host?: string;
  /** 8090 unless given; 0 takes a free port. */
  readonly port?: number;
  /** For development: webhooks may go to this machine and over plain HTTP, mails are shown in the log. */
  readonly dev?: boolean;
  /** The URL of a PostgreSQL database in place of the data directory; `key` or `keyFile` is needed then. */
  readonly postgres?: string;
  readonly postgresFile?: string;
  readonly allowUnsafePostgres?: boolean;
  /** A folder for the files of records, in place of the data directory. */
  readonly files?: string;
  /** The master key that seals secrets, 32 bytes in hex or base64. Without it and `keyFile`, one is made in the data directory. */
  readonly key?: string;
  readonly keyFile?: string;
  /** How many copies of each file of the data directory are kept as it was before a newer version changed it; 1 unless given. */
  readonly keepUpgradeCopies?: number;
  /** Private networks that webhooks and mails may go to, as `10.0.0.0/8`. */
  readonly allowNet?: readonly string[];
  /** Ports of other protocols that webhooks may go to. */
  readonly allowPorts?: readonly number[];
  /** Networks of proxies whose `X-Forwarded-For` says where a client is. */
  readonly trustedProxies?: readonly string[];
  /** Answers only on hosts that are bound to an instance. */
  readonly strictHosts?: boolean;
  /** Files in PEM; with both, HTTPS is served. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Web origins that may read answers; all unless given. */
  readonly corsOrigins?: readonly string[];
  /** In seconds: how long `stop` waits for webhooks that are on their way. */
  readonly stopTimeout?: number;
  /**
   * On SQLite: how many threads run the instances; 0 for the one that takes requests. `auto`, unless given: that one until a second instance
   * is used, then as many as there are processors.
   */
  readonly hostThreads?: number | 'auto';
  /** In seconds: how long a list or a rule may search. */
  readonly queryTimeout?: number;
  readonly webhookSlots?: number;
  /** In KiB. */
  readonly webhookBodyMax?: number;
  readonly webhookDays?: number;
  /** How large the logs of events of all instances may be together, as `10GiB` or `10%`: 10% of the disk; any size with PostgreSQL. */
  readonly webhookBytes?: string;
  /** `http://user:password@host:port`: the proxy that webhooks leave through. */
  readonly webhookProxy?: string;
  /** A file of certificates of authorities that receivers may have theirs from, besides those of the system. */
  readonly webhookCa?: string;
  /** In MiB: what the bodies and answers of all clients may take together. */
  readonly answerMemory?: number;
  readonly realtimeConnections?: number;
  readonly realtimeConnectionsPerAddress?: number;
  readonly auditDays?: number;
  /** How many days a deleted instance can be restored. */
  readonly deletedDays?: number;
  /** While less of the disk is free, as `10GiB` or `5%`, instances above their share are refused: 5%, at most 10GiB. */
  readonly diskReserve?: string;
  /** A folder for the backups that superusers make, in place of `backups` in the data directory. */
  readonly backups?: string;
  /** Backs up all instances into this folder, or `s3://bucket/prefix`, whenever `backupCron` says, in UTC. */
  readonly backupTo?: string;
  readonly backupCron?: string;
  /** How many of these backups are kept for each instance; 7 unless given. */
  readonly backupKeep?: number;
  /** The account of S3 for places that are named `s3://bucket/prefix`. */
  readonly backupS3Endpoint?: string;
  readonly backupS3Region?: string;
  readonly backupS3AccessKey?: string;
  readonly backupS3SecretFile?: string;
  readonly backupS3PathStyle?: boolean;
  /** In seconds: how long a newer version waits for nodes on the same PostgreSQL database that its tables do not admit. */
  readonly upgradeWait?: number;
  /** How often everything that is stored is searched for damage; 0 for never. */
  readonly checkHours?: number;
  /** Serves metrics for Prometheus on a port of their own; 0 takes a free one. On 127.0.0.1 unless `metricsHost` is given. */
  readonly metricsPort?: number;
  readonly metricsHost?: string;
  /** Names of hosts by which metrics may be asked for, besides addresses, localhost and names without a dot. */
  readonly metricsNames?: readonly string[];
  /** Writes a line of JSON to the standard output for each request. */
  readonly accessLog?: boolean;
  /** Lines go to the standard output of the process; from `info` on unless given. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error';
  /** Made in the default instance, if it has no superuser with this address. The password of one that exists stays as it is. */
  readonly superuser?: { readonly email: string; readonly password: string };
}

/** Chancery, running inside this process and on threads of it. */
export interface RunningChancery extends AsyncDisposable {
  /** Where it listens: `http://127.0.0.1:8090`. */
  readonly url: string;
  /** Lets requests and webhooks that are on their way end, then closes everything; once, however often it is called. */
  readonly stop: () => Promise<void>;
}

/** Starts Chancery inside this process. Rejects with an error whose message is one line for the operator when it cannot start. */
export async function start(options: StartOptions = {}): Promise<RunningChancery> {
  const { superuser, key, ...flags } = options;
  const app = await startApp(readConfig(toFlags(flags), { CHANCERY_KEY: key }));
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= app.stop());
  try {
    if (superuser !== undefined) await ensureSuperuser(app, superuser);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: app.url, stop, [Symbol.asyncDispose]: stop };
}

type OptionValue = string | number | boolean | readonly (string | number)[] | undefined;

/** Throws ConfigError for an option that does not exist: programs in JavaScript are told of it as those in TypeScript are. */
function toFlags(options: Readonly<Record<string, OptionValue>>): Flags {
  const flags: Record<string, string | boolean | undefined> = {};
  for (const [option, value] of Object.entries(options)) {
    const name = option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (![...dataFlags, ...serverFlags].some((flag) => flag.name === name))
      throw new ConfigError(`There is no option ${option}.`);
    flags[name] = typeof value === 'boolean' || value === undefined ? value : String(value);
  }
  return flags;
}

async function ensureSuperuser(
  app: App,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  const entry = app.data.directory.findBySlug(defaultSlug);
  if (entry === undefined) return;
  const loan = await app.data.instances.borrow(entry);
  try {
    const existing = await listSuperusers(loan.instance);
    if (!existing.includes(email)) await upsertSuperuser(loan.instance, email, password);
  } finally {
    loan.release();
  }
}
