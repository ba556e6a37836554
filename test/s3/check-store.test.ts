import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { S3Client } from '../../src/files/s3-client.ts';
import { S3Store } from '../../src/files/s3-store.ts';
import { loopbackRanges } from '../../src/network/address-guard.ts';
import { GuardedRequests } from '../../src/network/guarded-requests.ts';
import { S3StandIn } from '../support/s3-stand-in.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { checkStore } from './check-store.ts';

// Against a server that is installed: npm run s3.

test('a store in S3 does all that the service does with one', async (t) => {
  const remote = await S3StandIn.open();
  t.after(() => remote[Symbol.asyncDispose]());
  const requests = new GuardedRequests({
    policy: { allowHttp: false, allowed: loopbackRanges },
    clock: systemClock,
  });
  t.after(() => requests.stop());
  const client = new S3Client({ settings: remote.settings, requests, clock: systemClock });
  await checkStore(new S3Store(client), temporaryFolder(t));
});
