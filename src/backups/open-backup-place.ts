import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import type { S3Settings } from '../settings/settings.ts';
import type { GuardedRequests } from '../network/guarded-requests.ts';
import { backupBucket, backupFolder, type BackupPlace } from './backup-place.ts';

/** Where backups are kept, as the operator has it. */
export interface BackupPlaces {
  /** The folder with a folder for the backups of each instance, where its settings name no bucket. */
  readonly folder: string;
  /** The account of S3 in which places named `s3://bucket/prefix` are; its bucket is empty. Undefined where no account was given. */
  readonly account: S3Settings | undefined;
}

/** The bucket and the prefix of a place in S3; undefined for a folder. */
export function bucketOf(place: string): { readonly bucket: string; readonly prefix: string } | undefined {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/.exec(place) ?? [];
  return bucket === undefined ? undefined : { bucket, prefix: prefix.replace(/\/+$/, '') };
}

export interface PlaceParts {
  readonly places: BackupPlaces;
  readonly requests: GuardedRequests;
  readonly clock: Clock;
}

/** Opens the place where an instance keeps its backups: the bucket of its settings, or a folder of its own. */
export function openOwnPlace(
  { shownId, settings }: Pick<Instance, 'shownId' | 'settings'>,
  { places, requests, clock }: PlaceParts,
): BackupPlace {
  const { s3 } = settings.current.backups;
  if (s3.enabled) return backupBucket({ settings: s3, requests, clock }, '');
  return backupFolder(join(places.folder, shownId));
}

/** Opens a place that the operator has named: a folder, or `s3://bucket/prefix`. In it, each instance has a folder. */
export function openNamedPlace(
  place: string,
  shownId: string,
  { places, requests, clock }: PlaceParts,
): BackupPlace {
  const named = bucketOf(place);
  if (named === undefined) return backupFolder(join(place, shownId));
  const { account } = places;
  if (account === undefined) throw new AppError('bad_request', `There is no account for ${place}.`);
  const settings = { ...account, bucket: named.bucket };
  const prefix = named.prefix === '' ? shownId : `${named.prefix}/${shownId}`;
  return backupBucket({ settings, requests, clock }, prefix);
}
