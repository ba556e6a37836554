import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { testRule } from '../../records/test-rule.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../body.ts';
import { jsonAnswer, operation } from '../openapi/operation.ts';
import { objectSchema, type Paths, type Schema, schemaReference } from '../openapi/schema.ts';
import { onInstanceAsSuperuser } from '../route.ts';

interface CollectionPath {
  Params: { collection: string };
}

/** Testing rules without doing anything, for those who write them. */
export function ruleRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.post<CollectionPath>(
    '/api/collections/:collection/rules/test',
    onInstanceAsSuperuser<CollectionPath>(instances, async ({ instance }, request, reply) => {
      await instance.refresh();
      const { collection } = request.params;
      const verdict = await testRule(instance, { collection, body: bodyOf(request) });
      return answer(request, reply, { json: JSON.stringify(verdict) });
    }),
  );
}

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
