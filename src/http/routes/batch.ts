import { AppError } from '../../base/errors.ts';
import { prepareBatch, runBatch } from '../../records/batch.ts';
import { type Settings, settingsLimits } from '../../settings/settings.ts';
import type { WriteOptions } from '../../storage/database.ts';
import {
  batchAnswer,
  batchJsonLimits,
  limitBatch,
  readBatchRequests,
  toBatchError,
} from './batch-requests.ts';
import { tooLarge } from '../read-body.ts';
import { batchForm } from '../form-plans.ts';
import { freeForm, jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

/** Several changes of records at once. */
export const batchRoutes = [
  route({
    method: 'POST',
    path: '/api/batch',
    id: 'batch',
    tag: 'records',
    scope: 'records:write',
    summary: 'Run several changes of records in one transaction',
    description:
      'In one transaction and in their order. `PUT` updates the record of the `id` in its body, or creates it. In a ' +
      'form the JSON below is the part `@jsonPayload`, and the file of a field of the first request is `requests.0.FIELD`.',
    parameters: ['Fields', 'IdempotencyKey'],
    body: schemaReference('BatchRequest'),
    form: freeForm(
      '`@jsonPayload` is the JSON object with `requests`; files are fields like `requests.0.picture`.',
    ),
    jsonLimits: batchJsonLimits,
    answers: {
      200: jsonAnswer('The answers of the requests, in their order.', schemaReference('BatchAnswer'), {
        'Idempotent-Replayed': 'Replayed',
      }),
    },
    refusals: [409, 422, 507],
    planForm: ({ instance }) => {
      const { batch } = instance.settings.current;
      requireEnabled(batch);
      return batchForm(batch);
    },
    handle: async (context) => {
      const { instance, request, input } = context;
      const { batch } = instance.settings.current;
      requireEnabled(batch);
      if (batch.maxBodySize > 0 && request.bodyBytes > batch.maxBodySize) throw tooLarge();
      const items = readBatchRequests(context.body, input, batch.maxRequests);
      const entries = await limitBatch(context, items);
      const prepared = await prepareBatch(instance, entries);
      // Limits each statement: one that waits longer for a lock would be too late for the batch anyway.
      const options: WriteOptions = { statementMsMax: batch.timeout * 1_000 };
      return context.write(async (tx) => {
        const results = await runBatch(instance, tx, prepared).catch((error: unknown) => {
          throw toBatchError(error);
        });
        return batchAnswer(results, { instance, reader: tx, query: input.query, entries });
      }, options);
    },
  }),
];

function requireEnabled({ enabled }: Settings['batch']): void {
  if (!enabled) throw new AppError('forbidden', 'Batch requests are not allowed.');
}

export const batchSchemas: Readonly<Record<string, Schema>> = {
  BatchRequest: objectSchema({
    requests: {
      type: 'array',
      minItems: 1,
      maxItems: settingsLimits.batchRequestsMax,
      items: objectSchema(
        {
          method: { type: 'string', enum: ['POST', 'PUT', 'PATCH', 'DELETE'] },
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
      body: { oneOf: [schemaReference('AnyRecord'), { type: 'null' }] },
      status: { type: 'integer', enum: [200, 201, 204] },
    }),
  },
};
