import type { Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';
import { schemaReference } from './reference.ts';

/** The body of every refusal. */
export const errorSchemas: Readonly<Record<string, Schema>> = {
  Error: objectSchema({
    data: schemaReference('FieldErrors'),
    message: { type: 'string', description: 'A sentence for people.' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
  }),
  FieldErrors: {
    type: 'object',
    description: 'What is wrong, by member; nested for members that have members of their own.',
    additionalProperties: { anyOf: [schemaReference('FieldError'), schemaReference('FieldErrors')] },
  },
  FieldError: objectSchema(
    {
      code: { type: 'string', description: 'Stays the same: programs go by it.' },
      message: { type: 'string' },
      params: { type: 'object', additionalProperties: true, description: 'What the message was made with.' },
      response: {
        ...schemaReference('Error'),
        description: 'Of a request in a batch: what it would have been answered alone.',
      },
    },
    ['params', 'response'],
  ),
};
