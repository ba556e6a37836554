import { searchLimits, searchRecords } from '../../records/search-records.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

/** One search over all collections. */
export const searchRoutes = [
  route({
    method: 'GET',
    path: '/api/search',
    id: 'searchRecords',
    tag: 'records',
    scope: 'records:read',
    isCurrent: true,
    summary: 'Search the records of all collections',
    description:
      'Finds records that the caller may list: by their whole id or the whole value of an indexed text, and by a part of a text among the newest of each collection. Searched are presentable and indexed fields of the types text, email and url; the first of them where a collection has none. Views and system collections are not searched.',
    parameters: ['SearchText'],
    answers: { 200: jsonAnswer('What was found, and what was looked at.', schemaReference('RecordSearch')) },
    handle: async (context) => {
      const { instance, input, memory, request } = context;
      const { signal } = request;
      const text = input.query.get('text') ?? '';
      return context.answer(await searchRecords(instance, input, { text, memory, signal }));
    },
  }),
];

export const searchSchemas: Readonly<Record<string, Schema>> = {
  RecordSearch: objectSchema({
    items: {
      type: 'array',
      maxItems: searchLimits.itemsMax,
      items: schemaReference('AnyRecord'),
      description: `At most ${searchLimits.itemsOfCollectionMax} records of a collection, with the searched fields alone and 200 characters of each.`,
    },
    collections: { type: 'integer', description: 'Collections that the caller may list.' },
    searched: {
      type: 'integer',
      description: `How many of them were searched: up to ${searchLimits.collectionsMax}, those with an indexed text first, until ${searchLimits.itemsMax} records were found.`,
    },
    skipped: {
      type: 'integer',
      description: `How many more were left out for want of time: all together have ${searchLimits.totalMsMax / 1_000} seconds, and each of their queries the query timeout.`,
    },
    recordsMax: {
      type: 'integer',
      description: `In how many of the newest records of each collection a part of a text was looked for: ${searchLimits.recordsInAllMax} divided among the collections, ${searchLimits.recordsMin} at least.`,
    },
  }),
};
