import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { prepareBatch } from '../../records/batch.ts';
import type { Settings } from '../../settings/settings.ts';
import { answerWrite } from '../answer-write.ts';
import { batchJsonLimits } from '../batch-json-limits.ts';
import { batchAnswer, toBatchError } from '../batch-answer.ts';
import { limitBatch } from '../limit-batch.ts';
import { readBatchRequests } from '../read-batch-requests.ts';
import { bodyOf } from '../request-body.ts';
import { onInstance } from '../on-instance.ts';
import { factsOf } from '../request-facts.ts';

/** Several changes of records at once. */
export function batchRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.post(
    '/api/batch',
    { config: { jsonLimits: batchJsonLimits } },
    onInstance(instances, async ({ instance, caller }, request, reply) => {
      const { batch } = instance.settings.current;
      requireAllowed(request, batch);
      const facts = factsOf(request, caller);
      const asked = readBatchRequests(bodyOf(request), facts, batch.maxRequests);
      const entries = await limitBatch({ instance, caller, request }, asked);
      const write = await prepareBatch(instance, entries);
      // Limits each statement: one that waits longer for a lock would be too late for the batch anyway.
      const options = { statementMsMax: batch.timeout * 1_000, isGathering: entries.length > 1 };
      return answerWrite({ instance, caller }, { request, reply, options }, async (tx) => {
        const results = await write(tx).catch((error: unknown) => {
          throw toBatchError(error);
        });
        return batchAnswer(results, { instance, reader: tx, query: facts.query, entries });
      });
    }),
  );
}

/** Checks the instance's settings for batches. The limit for all bodies was already enforced while the body was read. */
function requireAllowed(request: FastifyRequest, { enabled, maxBodySize }: Settings['batch']): void {
  if (!enabled) throw new AppError('forbidden', 'Batch requests are not allowed.');
  if (maxBodySize > 0 && request.bodyBytes > maxBodySize)
    throw new AppError('payload_too_large', 'Request entity too large.');
}
