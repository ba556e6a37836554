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
    description: 'keep everything in this PostgreSQL database (15 to 18) instead',
    isSecret: true,
  },
  { name: 'postgres-file', value: 'FILE', description: 'file with that URL, which may hold a password' },
  {
    name: 'files',
    value: 'DIR',
    description:
      'keep files of records here, in a folder that all nodes share, and not in the data directory',
  },
  {
    name: 'backups',
    value: 'DIR',
    description: 'keep the backups that superusers make here, and not in `backups` of the data directory',
  },
  { name: 'allow-unsafe-postgres', description: 'accept a server that may lose acknowledged writes' },
  {
    name: 'key-file',
    value: 'FILE',
    description: 'file with the master key (or CHANCERY_KEY: the key itself)',
  },
  {
    name: 'keep-upgrade-copies',
    value: 'COUNT',
    description: 'how many copies of each file are kept as it was before an upgrade',
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
    description: 'proxies whose X-Forwarded-For says where a client is',
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
    description: 'how long webhooks in flight may take to end on a stop',
    fallback: '20',
  },
  {
    name: 'host-threads',
    value: 'COUNT',
    description:
      'how many threads run the instances; 0 for the one that takes requests, auto for that one until a second instance is used',
    fallback: 'auto',
  },
  {
    name: 'query-timeout',
    value: 'SECONDS',
    description: 'how long a list or a rule may search',
    fallback: '1',
  },
  {
    name: 'webhook-slots',
    value: 'COUNT',
    description: 'how many webhooks may be on their way at once',
    fallback: '2048',
  },
  {
    name: 'webhook-body-max',
    value: 'KIB',
    description: 'the largest record that a webhook carries whole, in KiB',
    fallback: '256',
  },
  {
    name: 'answer-memory',
    value: 'MIB',
    description: 'how much memory the bodies and answers of all clients may take, in MiB',
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
    description: 'how many realtime connections an instance may have',
    fallback: '10000',
  },
  {
    name: 'realtime-connections-per-address',
    value: 'COUNT',
    description: 'how many of them guests from one address may have',
    fallback: '1000',
  },
  {
    name: 'webhook-days',
    value: 'DAYS',
    description: 'how long events and deliveries are kept, 0 for ever',
    fallback: '30',
  },
  {
    name: 'webhook-bytes',
    value: 'SIZE',
    description:
      'how large the logs of events may be together, as 10GiB or 10%; by default 10% of the disk, with PostgreSQL any size; 0 for any size',
  },
  {
    name: 'upgrade-wait',
    value: 'SECONDS',
    description: 'how long a newer version waits for nodes that its tables do not admit',
    fallback: '300',
  },
  {
    name: 'check-hours',
    value: 'HOURS',
    description: 'how often everything that is stored is searched for damage, 0 for never',
    fallback: '24',
  },
  {
    name: 'audit-days',
    value: 'DAYS',
    description: 'how long the audit log is kept, 0 for ever',
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
    description: 'how many of these backups are kept for each instance',
    fallback: '7',
  },
  ...backupAccountFlags,
  {
    name: 'metrics-port',
    value: 'PORT',
    description: 'serve metrics for Prometheus on this port, 0 for a free one, to whoever reaches it',
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
    description: 'names of hosts with a dot by which metrics may be read',
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
    description: 'a service that runs, or one of its instances (https://host/i/acme)',
  },
  {
    name: 'token',
    value: 'TOKEN',
    description: 'the token of a superuser, or an API key, for that service',
    isSecret: true,
  },
  { name: 'token-file', value: 'FILE', description: 'file with that token' },
  { name: 'profile', value: 'NAME', description: 'a service that `chancery login` has noted' },
  {
    name: 'instance',
    value: 'SLUG',
    description: 'the instance, if it is not that of the URL, or the default one',
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
