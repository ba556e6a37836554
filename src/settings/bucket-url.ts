import { urlField } from '../fields/url-field.ts';
import type { S3Settings } from './settings.ts';

/** As stores name new buckets: a valid label of a host, and no other part of an address. */
const BUCKET_IN_HOST = /^[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]$/;
/** As old buckets and some stores have them: they stay one part of a path. */
const BUCKET_IN_PATH = /^[A-Za-z0-9][\w.-]{2,254}$/;

/** Whether a bucket can have this name. No such name changes the host or the path of a request beyond its own part. */
export function isBucketName({
  bucket,
  forcePathStyle,
}: Pick<S3Settings, 'bucket' | 'forcePathStyle'>): boolean {
  // Two dots are an empty label in a host, and lead out of a folder in a path.
  return (forcePathStyle ? BUCKET_IN_PATH : BUCKET_IN_HOST).test(bucket) && !bucket.includes('..');
}

/** Returns the URL of an endpoint, which may leave out `https://`; undefined for text that is no address of a server and of a path on it. */
export function endpointUrl(endpoint: string): URL | undefined {
  const text = endpoint.includes('://') ? endpoint : `https://${endpoint}`;
  const options = { exceptDomains: [], onlyDomains: [], required: true };
  if (/[?#]/.test(text) || urlField.check(text, options) !== undefined) return undefined;
  return URL.parse(text) ?? undefined;
}

/** Returns the URL of a path in the bucket; undefined when the endpoint and the bucket make none. */
export function bucketUrl({ endpoint, bucket, forcePathStyle }: S3Settings, path: string): URL | undefined {
  const base = endpointUrl(endpoint);
  if (base === undefined) return undefined;
  const folders = base.pathname.split('/').filter((part) => part !== '');
  const host = forcePathStyle ? base.host : `${bucket}.${base.host}`;
  const parts = [...folders, ...(forcePathStyle ? [bucket] : []), path];
  return URL.parse(`${base.protocol}//${host}/${parts.join('/')}`) ?? undefined;
}
