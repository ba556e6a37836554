import { settingsLimits } from '../../settings/settings-limits.ts';
import type { Paths, Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';
import { jsonAnswer, operation } from './operation.ts';
import { schemaReference } from './reference.ts';

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
