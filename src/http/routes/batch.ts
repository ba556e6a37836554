import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { prepareBatch } from '../../records/batch.ts';
import { type Settings, settingsLimits } from '../../settings/settings.ts';
import { answerWrite } from '../answer-write.ts';
import {
  batchAnswer,
  batchJsonLimits,
  limitBatch,
  readBatchRequests,
  toBatchError,
} from '../batch-requests.ts';
import { bodyOf } from '../body.ts';
import { jsonAnswer, operation } from '../openapi/operation.ts';
import { objectSchema, type Paths, type Schema, schemaReference } from '../openapi/schema.ts';
import { onInstance } from '../route.ts';
import { ruleInput } from '../rule-input.ts';
import type { WriteOptions } from '../../storage/database.ts';

/** Several changes of records at once. */
export function batchRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.post(
    '/api/batch',
    { config: { jsonLimits: batchJsonLimits } },
    onInstance(instances, async ({ instance, caller }, request, reply) => {
      const { batch } = instance.settings.current;
      requireAllowed(request, batch);
      const facts = ruleInput(request, caller);
      const asked = readBatchRequests(bodyOf(request), facts, batch.maxRequests);
      const entries = await limitBatch({ instance, caller, request }, asked);
      const write = await prepareBatch(instance, entries);
      // Limits each statement: one that waits longer for a lock would be too late for the batch anyway.
      const options: WriteOptions = { statementMsMax: batch.timeout * 1_000, isBulk: entries.length > 1 };
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

/** Several changes of records at once. */
export const batchPaths: Paths = {
  '/api/batch': {
    post: operation({
      id: 'batch',
      tag: 'records',
      summary: 'Several changes of records, all or none',
      description:
        'In one transaction and in their order. `PUT` updates the record of the `id` in its body, or creates it. In a ' +
        'form the JSON below is the part `@jsonPayload`.',
      parameters: ['Fields', 'IdempotencyKey'],
      body: schemaReference('BatchRequest'),
      answers: {
        200: jsonAnswer('What each of them is answered, in their order.', schemaReference('BatchAnswer'), {
          'Idempotent-Replayed': 'Replayed',
        }),
      },
      refusals: [409, 422, 507],
    }),
  },
};

export const batchSchemas: Readonly<Record<string, Schema>> = {
  BatchRequest: objectSchema({
    requests: {
      type: 'array',
      minItems: 1,
      maxItems: settingsLimits.batchRequestsMax,
      items: objectSchema(
        {
          method: { enum: ['POST', 'PUT', 'PATCH', 'DELETE'] },
          url: {
            type: 'string',
            description: '`/api/collections/{collection}/records[/{id}]` or the short form, with a query.',
          },
          headers: { type: 'object', additionalProperties: { type: 'string' } },
          body: schemaReference('RecordBody'),
        },
        ['headers', 'body'],
      ),
    },
  }),
  BatchAnswer: {
    type: 'array',
    items: objectSchema({
      body: { oneOf: [schemaReference('Record'), { type: 'null' }] },
      status: { enum: [200, 201, 204] },
    }),
  },
};
