import type { Paths, Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';
import { jsonAnswer, operation } from './operation.ts';
import { schemaReference } from './reference.ts';

/** Testing rules, for superusers. */
export const rulePaths: Paths = {
  '/api/collections/{collection}/rules/test': {
    post: operation({
      id: 'testRule',
      tag: 'collections',
      summary: 'Ask a rule without doing anything',
      parameters: ['Collection', 'Fields'],
      body: schemaReference('RuleTest'),
      answers: { 200: jsonAnswer('What it says.', schemaReference('RuleVerdict')) },
      isForSuperusers: true,
    }),
  },
};

const texts: Schema = { type: 'object', additionalProperties: { type: 'string' } };
const anything: Schema = { type: 'object', additionalProperties: true };

export const ruleSchemas: Readonly<Record<string, Schema>> = {
  RuleTest: objectSchema(
    {
      rule: {
        type: ['string', 'null'],
        description: 'The name of a rule of the collection (`updateRule`), or any other rule.',
      },
      caller: {
        description: '`guest`, `superuser`, or a record of an auth collection.',
        default: 'guest',
        oneOf: [
          { enum: ['guest', 'superuser'] },
          objectSchema({ collection: { type: 'string' }, id: { type: 'string' } }),
        ],
      },
      record: {
        description: 'The id of a record, or the members of one that could be made.',
        oneOf: [{ type: 'string' }, anything],
      },
      request: objectSchema(
        {
          method: { type: 'string' },
          context: { type: 'string', default: 'default' },
          query: texts,
          headers: texts,
          body: { ...anything, description: 'What would be changed of the record that is named.' },
        },
        ['method', 'context', 'query', 'headers', 'body'],
      ),
    },
    ['caller', 'record', 'request'],
  ),
  RuleVerdict: objectSchema({
    allowed: { type: 'boolean' },
    terms: {
      type: 'array',
      description: 'Each comparison, asked by itself.',
      items: objectSchema({
        text: { type: 'string' },
        position: { type: 'integer', minimum: 0 },
        result: { type: 'boolean' },
      }),
    },
  }),
};
