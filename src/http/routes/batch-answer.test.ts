import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../base/errors.ts';
import { BatchItemFailed } from '../../records/batch.ts';
import { toBatchError } from './batch-requests.ts';

test('what is no fault of the client is answered as such, so that the batch may be sent again', () => {
  const bug = new Error('a bug');
  const busy = new AppError('unavailable', 'The service is busy, try again.', { retryAfter: 1 });
  const full = new AppError('storage_full', 'The storage is full.', { retryAfter: 30 });
  for (const cause of [bug, busy, full]) {
    assert.equal(toBatchError(new BatchItemFailed(3, cause)), cause);
    assert.equal(toBatchError(cause), cause);
  }
});
