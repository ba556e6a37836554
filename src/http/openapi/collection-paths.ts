import type { Paths } from './document.ts';
import { emptyAnswer, jsonAnswer, operation } from './operation.ts';
import { listParameters } from './parameters.ts';
import { schemaReference } from './reference.ts';

const tag = 'collections';
const isForSuperusers = true;
const collection = schemaReference('Collection');
const refusals = [409, 507] as const;

/** Definitions of collections, for superusers. */
export const collectionPaths: Paths = {
  '/api/collections': {
    get: operation({
      id: 'listCollections',
      tag,
      summary: 'A page of definitions',
      parameters: listParameters,
      answers: { 200: jsonAnswer('The definitions.', schemaReference('CollectionList')) },
      isForSuperusers,
    }),
    post: operation({
      id: 'createCollection',
      tag,
      summary: 'Make a collection',
      parameters: ['Fields'],
      body: { ...schemaReference('CollectionInput'), required: ['name'] },
      answers: { 200: jsonAnswer('The definition.', collection) },
      refusals,
      isForSuperusers,
    }),
  },
  '/api/collections/meta/scaffolds': {
    get: operation({
      id: 'getScaffolds',
      tag,
      summary: 'Definitions to start from',
      description: 'Without `created` and `updated`, which every new collection gets.',
      parameters: ['Fields'],
      answers: { 200: jsonAnswer('By type of collection.', schemaReference('Scaffolds')) },
      isForSuperusers,
    }),
  },
  '/api/collections/meta/oauth2-providers': {
    get: operation({
      id: 'getOAuth2Providers',
      tag,
      summary: 'Providers that a sign-in with OAuth2 may use; none yet',
      parameters: ['Fields'],
      answers: { 200: jsonAnswer('No providers.', { type: 'array', maxItems: 0 }) },
      isForSuperusers,
    }),
  },
  '/api/collections/import': {
    put: operation({
      id: 'importCollections',
      tag,
      summary: 'Make, change and delete collections, all or none',
      parameters: [],
      body: schemaReference('CollectionImport'),
      answers: { 204: emptyAnswer('The collections are as they were given.') },
      refusals,
      isForSuperusers,
    }),
  },
  '/api/collections/{collection}': {
    get: operation({
      id: 'getCollection',
      tag,
      summary: 'A definition',
      parameters: ['Collection', 'Fields'],
      answers: { 200: jsonAnswer('The definition.', collection) },
      isForSuperusers,
    }),
    patch: operation({
      id: 'updateCollection',
      tag,
      summary: 'Change a collection; fields that stay keep their values',
      parameters: ['Collection', 'Fields'],
      body: schemaReference('CollectionInput'),
      isBodyOptional: true,
      answers: { 200: jsonAnswer('The definition.', collection) },
      refusals,
      isForSuperusers,
    }),
    delete: operation({
      id: 'deleteCollection',
      tag,
      summary: 'Delete a collection with its records',
      description: 'Of its records no events are told.',
      parameters: ['Collection'],
      answers: { 204: emptyAnswer('The collection is deleted.') },
      refusals: [...refusals, 413, 415],
      isForSuperusers,
    }),
  },
  '/api/collections/{collection}/truncate': {
    delete: operation({
      id: 'truncateCollection',
      tag,
      summary: 'Delete all records of a collection, each with its event',
      parameters: ['Collection'],
      answers: { 204: emptyAnswer('The records are deleted.') },
      refusals: [...refusals, 413, 415],
      isForSuperusers,
    }),
  },
};
