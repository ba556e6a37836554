import { checkFilter } from '../../records/check-filter.ts';
import { dryRunRule } from '../../records/dry-run-rule.ts';
import { testRule } from '../../records/test-rule.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

/** Testing rules and filters without doing anything, for those who write them. */
export const ruleRoutes = [
  route({
    method: 'POST',
    path: '/api/collections/:collection/filters/check',
    id: 'checkFilter',
    tag: 'collections',
    summary: 'Validate a filter, a sort or a rule',
    description: 'Reads no record.',
    isForSuperusers: true,
    scope: 'records:read',
    parameters: ['Collection', 'Fields'],
    body: schemaReference('FilterDraft'),
    answers: { 200: jsonAnswer('The result of the check.', schemaReference('FilterCheck')) },
    handle: async (context) => {
      const { instance, input, body, params } = context;
      const { collection } = params;
      return context.answer(JSON.stringify(await checkFilter(instance, input, { collection, body })));
    },
  }),
  route({
    method: 'POST',
    path: '/api/collections/:collection/rules/test',
    id: 'testRule',
    tag: 'collections',
    summary: 'Test a rule without changing anything',
    isForSuperusers: true,
    isCurrent: true,
    parameters: ['Collection', 'Fields'],
    body: schemaReference('RuleTest'),
    answers: { 200: jsonAnswer('The result of the rule.', schemaReference('RuleVerdict')) },
    handle: async (context) => {
      const { collection } = context.params;
      return context.answer(
        JSON.stringify(await testRule(context.instance, { collection, body: context.body })),
      );
    },
  }),
  route({
    method: 'POST',
    path: '/api/collections/meta/dry-run-rule',
    id: 'dryRunRule',
    tag: 'collections',
    summary: 'Check and test a rule of a collection that is not saved',
    description: 'Reads no record of the collection, and changes nothing.',
    isForSuperusers: true,
    isCurrent: true,
    parameters: ['Fields'],
    body: schemaReference('RuleDryRunInput'),
    answers: { 200: jsonAnswer('The result of the check and of the test.', schemaReference('RuleDryRun')) },
    handle: async (context) =>
      context.answer(JSON.stringify(await dryRunRule(context.instance, context.body))),
  }),
];

const texts: Schema = { type: 'object', additionalProperties: { type: 'string' } };
const anything: Schema = { type: 'object', additionalProperties: true };

const testMembers = {
  caller: {
    description: '`guest`, `superuser`, or a record of an auth collection; `guest` if left out.',
    oneOf: [
      { type: 'string', enum: ['guest', 'superuser'] },
      objectSchema({ collection: { type: 'string' }, id: { type: 'string' } }),
    ],
  },
  request: objectSchema(
    {
      method: { type: 'string' },
      context: { type: 'string', default: 'default' },
      query: texts,
      headers: texts,
      body: { ...anything, description: 'The members that the request would change.' },
    },
    ['method', 'context', 'query', 'headers', 'body'],
  ),
} satisfies Readonly<Record<string, Schema>>;

const checkMembers = {
  isValid: { type: 'boolean' },
  message: { type: 'string', description: 'The error, as a list would report it; empty if there is none.' },
  position: {
    type: ['integer', 'null'],
    minimum: 0,
    description:
      'Position of the error in the text, in UTF-16 units from 0, as JavaScript counts them; null if there is none.',
  },
} satisfies Readonly<Record<string, Schema>>;

const terms: Schema = {
  type: 'array',
  description: 'The result of each comparison by itself.',
  items: objectSchema({
    text: { type: 'string' },
    position: { type: 'integer', minimum: 0 },
    result: { type: 'boolean' },
    sides: {
      type: 'array',
      description:
        'The left and the right side of a false comparison, with what was compared. Empty where it is true, behind the tenth, and where reading takes too long.',
      items: schemaReference('ComparedSide'),
    },
  }),
};

export const ruleSchemas: Readonly<Record<string, Schema>> = {
  FilterDraft: {
    description: 'One of them.',
    oneOf: [
      objectSchema({ filter: { type: 'string', description: 'That of a list of the records.' } }),
      objectSchema({ sort: { type: 'string', description: 'That of a list of the records.' } }),
      objectSchema({
        rule: {
          type: ['string', 'null'],
          description: 'A rule of the collection, which may name the request and its caller.',
        },
      }),
    ],
  },
  FilterCheck: objectSchema(checkMembers),
  RuleTest: objectSchema(
    {
      rule: {
        type: ['string', 'null'],
        description: 'The name of a rule of the collection (`updateRule`), or any other rule.',
      },
      ...testMembers,
      record: {
        description: 'The id of a record, or the members of a new one.',
        oneOf: [{ type: 'string' }, anything],
      },
    },
    ['caller', 'record', 'request'],
  ),
  RuleDryRunInput: objectSchema(
    {
      definition: {
        ...schemaReference('CollectionInput'),
        description: 'The collection. With the id of a stored one, what it would become.',
      },
      rule: {
        type: ['string', 'null'],
        description: 'The text of a rule, or the name of one of the definition.',
      },
      record: {
        ...anything,
        description: 'The members of a new record to test the rule on. Without it the rule is only checked.',
      },
      ...testMembers,
    },
    ['caller', 'record', 'request'],
  ),
  RuleDryRun: objectSchema({
    ...checkMembers,
    allowed: {
      type: ['boolean', 'null'],
      description:
        'The result of the rule. Null where it was only checked, and where it reads records of the collection itself: `message` says so.',
    },
    terms,
  }),
  RuleVerdict: objectSchema({
    allowed: { type: 'boolean' },
    terms,
  }),
  ComparedSide: objectSchema({
    text: { type: 'string', description: 'The text of the operand.' },
    values: {
      type: 'array',
      items: {},
      description: 'The compared values, at most 10; long ones are truncated.',
    },
  }),
};
