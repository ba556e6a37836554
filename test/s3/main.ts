/**
 * Checks a real S3 server on this machine: `S3_ENDPOINT=http://127.0.0.1:9000 S3_BUCKET=… S3_ACCESS_KEY=… S3_SECRET=… npm run s3`, with S3_REGION
 * where it is not us-east-1. Exits with 1 when an answer is wrong, with 2 when the server is not named.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { S3Client } from '../../src/files/s3-client.ts';
import { S3Store } from '../../src/files/s3-store.ts';
import { loopbackRanges } from '../../src/network/address-guard.ts';
import { GuardedRequests } from '../../src/network/guarded-requests.ts';
import { checkStore } from './check-store.ts';

const {
  S3_ENDPOINT: endpoint,
  S3_BUCKET: bucket,
  S3_ACCESS_KEY: accessKey,
  S3_SECRET: secret,
  S3_REGION: region,
} = process.env;
if (!endpoint || !bucket || !accessKey || !secret) {
  console.error('expected: S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY and S3_SECRET of a server on this machine');
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'chancery-s3-'));
const requests = new GuardedRequests({
  policy: { allowHttp: true, allowed: loopbackRanges },
  clock: systemClock,
});
try {
  const settings = {
    enabled: true,
    endpoint,
    bucket,
    accessKey,
    secret,
    region: region ?? 'us-east-1',
    forcePathStyle: true,
  };
  await checkStore(new S3Store(new S3Client({ settings, requests, clock: systemClock })), folder);
  console.log('All answers were right.');
} finally {
  await requests.stop();
  rmSync(folder, { recursive: true });
}
