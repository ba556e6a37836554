import { testRule } from '../../records/test-rule.ts';
import { jsonAnswer } from '../openapi/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../openapi/schema.ts';
import { route } from '../route.ts';

/** Testing rules without doing anything, for those who write them. */
export const ruleRoutes = [
  route({
    method: 'POST',
    path: '/api/collections/:collection/rules/test',
    id: 'testRule',
    tag: 'collections',
    summary: 'Ask a rule without doing anything',
    isForSuperusers: true,
    isCurrent: true,
    parameters: ['Collection', 'Fields'],
    body: schemaReference('RuleTest'),
    answers: { 200: jsonAnswer('What it says.', schemaReference('RuleVerdict')) },
    handle: async (context) => {
      const { collection } = context.params;
      return context.answer(
        JSON.stringify(await testRule(context.instance, { collection, body: context.body })),
      );
    },
  }),
];

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
