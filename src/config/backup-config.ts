import { join } from 'node:path';
import { bucketOf, type BackupPlaces } from '../backups/open-backup-place.ts';
import { isCron } from '../base/cron.ts';
import { bucketUrl, isBucketName } from '../settings/bucket-url.ts';
import type { S3Settings } from '../settings/settings.ts';
import { ConfigError } from './config-error.ts';
import { readInteger, readSwitch } from './read-values.ts';

/** What the operator decides about backups. */
export interface BackupConfig extends BackupPlaces {
  /** Backups of all instances on a schedule; undefined for none. */
  readonly schedule: BackupSchedule | undefined;
}

export interface BackupSchedule {
  /** A folder, or `s3://bucket/prefix`. */
  readonly place: string;
  readonly cron: string;
  /** How many backups of each instance are kept. */
  readonly keep: number;
}

type ReadValue = (name: string) => string | undefined;

/** Throws ConfigError. */
export function readBackups(read: ReadValue, secret: string | undefined): BackupConfig {
  const account = readAccount(read, secret);
  return {
    folder: read('backups') ?? join(read('data') ?? '', 'backups'),
    schedule: readSchedule(read, account),
    account,
  };
}

function readSchedule(read: ReadValue, account: S3Settings | undefined): BackupSchedule | undefined {
  const [place, cron] = [read('backup-to'), read('backup-cron')];
  if (place === undefined && cron === undefined) return undefined;
  if (place === undefined || cron === undefined)
    throw new ConfigError('--backup-to and --backup-cron must be set together.');
  if (!isCron(cron))
    throw new ConfigError(
      `--backup-cron: expected five fields, like "0 3 * * *", not ${JSON.stringify(cron)}.`,
    );
  requirePlace('backup-to', place, account);
  return { place, cron, keep: readInteger('backup-keep', read('backup-keep'), { min: 1, max: 1_000 }) };
}

/** Throws ConfigError for a place in S3 that cannot be used. */
export function requirePlace(flag: string, place: string, account: S3Settings | undefined): void {
  const named = bucketOf(place);
  if (named === undefined) return;
  if (account === undefined)
    throw new ConfigError(
      `--${flag} names a bucket: set --backup-s3-endpoint and the options beside it, too.`,
    );
  const { bucket, prefix } = named;
  const isPrefix =
    prefix === '' || prefix.split('/').every((part) => /^[\w.-]{1,100}$/.test(part) && !/^\.+$/.test(part));
  if (!isBucketName({ ...account, bucket }) || !isPrefix)
    throw new ConfigError(`--${flag} takes a folder, or s3://bucket/prefix, not ${JSON.stringify(place)}.`);
}

function readAccount(read: ReadValue, secret: string | undefined): S3Settings | undefined {
  const endpoint = read('backup-s3-endpoint');
  if (endpoint === undefined) return undefined;
  const account = {
    enabled: true,
    bucket: '',
    endpoint,
    region: read('backup-s3-region') ?? '',
    accessKey: read('backup-s3-access-key') ?? '',
    secret: secret ?? '',
    forcePathStyle: readSwitch('backup-s3-path-style', read('backup-s3-path-style')),
  };
  if (bucketUrl({ ...account, bucket: 'bucket' }, '') === undefined)
    throw new ConfigError(`--backup-s3-endpoint: ${JSON.stringify(endpoint)} is no URL.`);
  if (account.accessKey === '' || account.secret === '')
    throw new ConfigError(
      '--backup-s3-endpoint needs --backup-s3-access-key and CHANCERY_BACKUP_S3_SECRET, too.',
    );
  return account;
}
