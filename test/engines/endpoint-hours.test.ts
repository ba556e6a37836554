// Both engines: attempts are counted by SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addToHours,
  allSteps,
  bucketMs,
  type EndedAttempt,
  readAllHours,
  readHours,
} from '../../src/deliveries/endpoint-hours.ts';
import { abortedResult } from '../../src/sending/attempt-result.ts';
import { startWebhookService } from '../support/webhook-service.ts';

const hourMs = 3_600_000;
const start = 500_000;
const shares = [0.5, 0.95, 0.99];

/** Returns the latency below or at which a share of them lies. */
function percentile(latencies: readonly number[], share: number): number | undefined {
  return latencies.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(latencies.length * share) - 1)];
}

test('the percentiles of any hours are those of the single attempts, and few rows are read for them', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint();
  const attempts: { readonly hour: number; readonly ms: number; readonly isSuccess: boolean }[] = [];
  for (let number = 0; number < 1_500; number += 1)
    // Latencies of all ranges from a millisecond to a minute, the third hour has none that succeeded.
    attempts.push({
      hour: number % 4,
      ms: 2 ** ((number * 37) % 16),
      isSuccess: number % 4 !== 2 && number % 5 > 0,
    });
  await service.withInstance('default', async (instance) => {
    const { database } = instance;
    const [endpoint] = await instance.endpoints.all(database);
    assert.ok(endpoint);
    assert.equal(endpoint.id, id);
    const ended = attempts.map(({ hour, ms, isSuccess }): EndedAttempt => {
      const aborted = abortedResult((start + hour) * hourMs, '');
      const kind = isSuccess ? 'success' : 'timeout';
      const timings = { ...aborted.timings, totalMs: ms };
      return {
        endpoint: endpoint.number,
        isLast: false,
        result: { ...aborted, deliveryId: '', kind, timings },
      };
    });
    await database.write((tx) => addToHours(tx, ended));
    for (const hours of [1, 2]) {
      const range = { start, end: start + 4, hours };
      const read = await readHours(database, endpoint.number, range);
      assert.deepEqual(await readAllHours(database, range), read);
      assert.ok(read.counts.length <= (4 / hours) * 2);
      for (const step of [allSteps, 0, 1, 2, 3]) {
        const its = attempts.filter(
          ({ hour, isSuccess }) => isSuccess && (step === allSteps || Math.floor(hour / hours) === step),
        );
        const expected = shares.map((share) =>
          percentile(
            its.map(({ ms }) => ms),
            share,
          ),
        );
        const found = read.percentiles.get(step)?.map(bucketMs);
        assert.equal(found === undefined, its.length === 0, `step ${step}`);
        for (const [index, ms] of (found ?? []).entries())
          assert.ok(Math.abs(ms / Number(expected[index]) - 1) < 0.05, `${ms} ms in step ${step}`);
      }
    }
  });
});
