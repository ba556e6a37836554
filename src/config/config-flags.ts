/**
 * One thing that the operator may decide, by a command-line flag, an environment variable or a line of chancery.toml; the first of them
 * wins. "Setting" is reserved for what superusers decide (settings/).
 */
export interface FlagDefinition {
  /** `--name`, `CHANCERY_NAME` in the environment, and `name` in the file. */
  readonly name: string;
  /** The placeholder of its value; a flag without one is a switch. */
  readonly value?: string;
  readonly description: string;
  readonly fallback?: string;
  /** The only values that it may have. */
  readonly choices?: readonly string[];
  /** Its value is never shown. */
  readonly isSecret?: true;
}

/** The file that has the rest of them. It cannot name itself. */
export const configFlag: FlagDefinition = {
  name: 'config',
  value: 'FILE',
  description: 'file with these options',
  fallback: 'chancery.toml, if there is one in the working directory',
};

/** The master key itself. It has no flag, because everybody on a machine can read the command lines of all. */
export const keyOption: FlagDefinition = {
  name: 'key',
  value: 'KEY',
  description: 'the master key itself',
  isSecret: true,
};

/** The secret of the account for backups in S3. It has no flag, for the same reason. */
const backupSecretOption: FlagDefinition = {
  name: 'backup-s3-secret',
  value: 'SECRET',
  description: 'the secret of the account for backups in S3',
  isSecret: true,
};

/** Flags that every command takes, because every command opens the same data. */
export const dataFlags: readonly FlagDefinition[] = [
  { name: 'data', value: 'DIR', description: 'the data directory', fallback: 'data' },
  {
    name: 'postgres',
    value: 'URL',
    description: 'store everything in this PostgreSQL database (15 to 18)',
    isSecret: true,
  },
  { name: 'postgres-file', value: 'FILE', description: 'file with the URL of the database' },
  {
    name: 'files',
    value: 'DIR',
    description: 'folder for files of records, shared by all nodes, instead of the data directory',
  },
  {
    name: 'backups',
    value: 'DIR',
    description: 'folder for backups made by superusers, instead of `backups` in the data directory',
  },
  {
    name: 'allow-unsafe-postgres',
    description: 'accept a PostgreSQL server that may lose acknowledged writes',
  },
  {
    name: 'key-file',
    value: 'FILE',
    description: 'file with the master key (or CHANCERY_KEY: the key itself)',
  },
  {
    name: 'keep-upgrade-copies',
    value: 'COUNT',
    description: 'how many copies of each file to keep from before an upgrade',
    fallback: '1',
  },
];

/** The account in S3 of places for backups that are named `s3://bucket/prefix`. */
export const backupAccountFlags: readonly FlagDefinition[] = [
  { name: 'backup-s3-endpoint', value: 'URL', description: 'the S3 service of s3:// places for backups' },
  { name: 'backup-s3-region', value: 'REGION', description: 'its region', fallback: 'us-east-1' },
  { name: 'backup-s3-access-key', value: 'KEY', description: 'the access key of its account' },
  {
    name: 'backup-s3-secret-file',
    value: 'FILE',
    description: 'file with the secret of that account (or CHANCERY_BACKUP_S3_SECRET: the secret itself)',
  },
  { name: 'backup-s3-path-style', description: 'name its buckets in paths, and not in hosts' },
];

/** For the server, and for whoever asks when a deleted instance goes. */
export const deletedDaysFlag: FlagDefinition = {
  name: 'deleted-days',
  value: 'DAYS',
  description: 'how long a deleted instance can be restored',
  fallback: '7',
};

/** Flags that limit the targets of connections. */
export const outwardFlags: readonly FlagDefinition[] = [
  {
    name: 'dev',
    description:
      'for development: webhooks may go to this machine and over plain HTTP, mails are shown in the log',
  },
  {
    name: 'allow-net',
    value: 'CIDR,…',
    description: 'private networks that webhooks, mails and files may go to',
  },
  {
    name: 'webhook-proxy',
    value: 'URL',
    description: 'HTTP proxy through which webhooks are sent, as http://user:password@proxy.example:3128',
    isSecret: true,
  },
  {
    name: 'webhook-ca',
    value: 'FILE',
    description: "certificates (PEM) that webhooks trust beside the system's",
  },
];

/** Flags that only the server takes. */
export const serverFlags: readonly FlagDefinition[] = [
  { name: 'host', value: 'ADDRESS', description: 'address to listen on', fallback: '127.0.0.1' },
  { name: 'port', value: 'PORT', description: 'port to listen on, 0 for a free one', fallback: '8090' },
  ...outwardFlags,
  {
    name: 'allow-ports',
    value: 'PORT,…',
    description: 'ports of other protocols, like 9200, that webhooks may go to',
  },
  {
    name: 'trusted-proxies',
    value: 'CIDR,…',
    description: 'proxies whose X-Forwarded-For header is trusted',
  },
  { name: 'strict-hosts', description: 'answer only on hosts that are bound to an instance' },
  {
    name: 'tls-cert',
    value: 'FILE',
    description: 'certificate chain (PEM); serves HTTPS, together with --tls-key',
  },
  { name: 'tls-key', value: 'FILE', description: 'key of the certificate (PEM)' },
  {
    name: 'cors-origins',
    value: 'ORIGIN,…',
    description: 'web origins that may read answers',
    fallback: '*',
  },
  {
    name: 'stop-timeout',
    value: 'SECONDS',
    description: 'how long a stop waits for webhooks in flight',
    fallback: '20',
  },
  {
    name: 'host-threads',
    value: 'COUNT',
    description:
      'how many threads run instances; 0 for the request thread, auto for that thread until a second instance is used',
    fallback: 'auto',
  },
  {
    name: 'query-timeout',
    value: 'SECONDS',
    description: 'time limit of a list or a rule',
    fallback: '1',
  },
  {
    name: 'webhook-slots',
    value: 'COUNT',
    description: 'maximum number of webhooks in flight',
    fallback: '2048',
  },
  {
    name: 'webhook-body-max',
    value: 'KIB',
    description: 'largest record that a webhook includes whole, in KiB',
    fallback: '256',
  },
  {
    name: 'answer-memory',
    value: 'MIB',
    description: 'maximum memory for request bodies and responses, in MiB',
    fallback: '512',
  },
  {
    name: 'disk-reserve',
    value: 'SIZE',
    description:
      'while less of the disk is free, as 10GiB or 5%, instances above their share are refused; by default 5%, at most 10GiB; 0 for never',
  },
  {
    name: 'realtime-connections',
    value: 'COUNT',
    description: 'maximum realtime connections of an instance',
    fallback: '10000',
  },
  {
    name: 'realtime-connections-per-address',
    value: 'COUNT',
    description: 'maximum realtime connections of guests from one address',
    fallback: '1000',
  },
  {
    name: 'webhook-days',
    value: 'DAYS',
    description: 'how long to keep events and deliveries, 0 for ever',
    fallback: '30',
  },
  {
    name: 'webhook-bytes',
    value: 'SIZE',
    description:
      'maximum size of all event logs, as 10GiB or 10%; by default 10% of the disk, with PostgreSQL unlimited; 0 for unlimited',
  },
  {
    name: 'upgrade-wait',
    value: 'SECONDS',
    description: 'how long a newer version waits for incompatible nodes to stop',
    fallback: '300',
  },
  {
    name: 'check-hours',
    value: 'HOURS',
    description: 'how often stored data is checked for damage, 0 for never',
    fallback: '24',
  },
  {
    name: 'audit-days',
    value: 'DAYS',
    description: 'how long to keep the audit log, 0 for ever',
    fallback: '90',
  },
  deletedDaysFlag,
  {
    name: 'backup-to',
    value: 'PLACE',
    description: 'back up all instances into this folder, or s3://bucket/prefix, on a schedule',
  },
  { name: 'backup-cron', value: 'CRON', description: 'when, in UTC, as "0 3 * * *"' },
  {
    name: 'backup-keep',
    value: 'COUNT',
    description: 'how many scheduled backups to keep for each instance',
    fallback: '7',
  },
  ...backupAccountFlags,
  {
    name: 'metrics-port',
    value: 'PORT',
    description: 'serve Prometheus metrics on this port, without authentication; 0 for a free one',
  },
  {
    name: 'metrics-host',
    value: 'ADDRESS',
    description: 'address to serve metrics on',
    fallback: '127.0.0.1',
  },
  {
    name: 'metrics-names',
    value: 'NAME,…',
    description: 'host names with a dot that may be used to read metrics',
  },
  { name: 'access-log', description: 'write a line of JSON for each request' },
  {
    name: 'log-level',
    value: 'LEVEL',
    description: 'debug, info, warn or error',
    fallback: 'info',
    choices: ['debug', 'info', 'warn', 'error'],
  },
];

/** Flags that select the service or the data of a command. */
export const clientFlags: readonly FlagDefinition[] = [
  {
    name: 'url',
    value: 'URL',
    description: 'URL of a service, or of one of its instances (https://host/i/acme)',
  },
  {
    name: 'token',
    value: 'TOKEN',
    description: 'token of a superuser, or an API key',
    isSecret: true,
  },
  { name: 'token-file', value: 'FILE', description: 'file with the token' },
  { name: 'profile', value: 'NAME', description: 'a profile saved by `chancery login`' },
  {
    name: 'instance',
    value: 'SLUG',
    description: 'slug of the instance, unless the URL names it; otherwise the default one',
  },
];

/** Everything that chancery.toml may have, each once. */
export const allOptions: readonly FlagDefinition[] = [
  ...dataFlags,
  keyOption,
  backupSecretOption,
  ...serverFlags,
  ...clientFlags,
];

/** `CHANCERY_TLS_CERT` of `tls-cert`. */
export function variableOf(name: string): string {
  return `CHANCERY_${name.toUpperCase().replaceAll('-', '_')}`;
}
