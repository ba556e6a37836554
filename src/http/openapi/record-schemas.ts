import type { Schema } from './document.ts';
import { cursorListSchema } from './list-schema.ts';
import { schemaReference } from './reference.ts';

/** What every record has, before the fields of its collection. */
export const recordMembers: Readonly<Record<string, Schema>> = {
  collectionId: { type: 'string' },
  collectionName: { type: 'string' },
};

/** Records that `expand` asked for, by the names of the relations that lead to them. */
const expandedSchema: Schema = {
  type: 'object',
  additionalProperties: {
    oneOf: [schemaReference('Record'), { type: 'array', items: schemaReference('Record') }],
  },
};

/** Records of any collection. */
export const recordSchemas: Readonly<Record<string, Schema>> = {
  Record: {
    type: 'object',
    description: 'A record: the members below, and the fields of its collection.',
    required: ['collectionId', 'collectionName', 'id'],
    properties: {
      ...recordMembers,
      id: { type: 'string', minLength: 1 },
      expand: schemaReference('Expanded'),
    },
    additionalProperties: true,
  },
  Expanded: expandedSchema,
  RecordList: cursorListSchema(schemaReference('Record')),
  RecordBody: {
    type: 'object',
    description:
      'Values by the names of fields; unknown names are ignored. `views+`, `tags+`, `+tags`, `tags-` and `code:autogenerate` change ' +
      'the value that is there.',
    additionalProperties: true,
  },
};
