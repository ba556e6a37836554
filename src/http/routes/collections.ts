import { hasScope, requireReach } from '../../access/caller.ts';
import { AppError } from '../../base/errors.ts';
import { idAlphabet, randomText } from '../../base/ids.ts';
import { type Collection, collectionLimits, collectionToJson } from '../../collections/collection.ts';
import { withAccountIndexes } from '../../collections/decode-indexes.ts';
import {
  type CollectionChange,
  type CollectionDeletion,
  type CollectionSaving,
  createCollection,
  deleteCollection,
  getCollection,
  updateCollection,
} from '../../definitions/change-collection.ts';
import { importCollections, rehearseImport } from '../../definitions/import-collections.ts';
import { type ImportPlan, readImportPlan } from '../../definitions/import-plan.ts';
import { listCollections, scaffoldCollection } from '../../definitions/list-collections.ts';
import { typedClient } from '../../definitions/typed-client.ts';
import { noteLostFiles } from '../../files/file-removals.ts';
import type { Instance } from '../../instances/instance.ts';
import { deleteProviderSecrets, writeTokenSecrets } from '../../instances/token-secrets.ts';
import { auditCollectionChange, changedPaths } from '../../logs/audit-entry.ts';
import { eraseAccount } from '../../records/sessions.ts';
import { collectionStats } from '../../records/collection-stats.ts';
import { dryRunView } from '../../records/dry-run-view.ts';
import { truncateCollection } from '../../records/truncate-collection.ts';
import { booleanOf, parameterError } from '../../query/list-parameters.ts';
import { collectionsOf } from '../../query/record-scope.ts';
import { listProviders } from '../../providers/configure-provider.ts';
import { renameLabels } from '../../settings/change-settings.ts';
import { forgetCollection, pauseBroken, reconcileAll } from '../../deliveries/endpoints/forget-collection.ts';
import { nothing, textAnswer } from '../answer.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { objectOf } from '../parse-body.ts';
import type { RequestContext } from '../request-context.ts';
import { route } from '../route.ts';

const text: Schema = { type: 'string' };
const common = { tag: 'collections', isForSuperusers: true, isCurrent: true } as const;
const reading = { ...common, method: 'GET', scope: 'collections:read' } as const;
const writing = { ...common, scope: 'collections:write', refusals: [409, 507] } as const;
const answers = { 200: jsonAnswer('The definition.', schemaReference('Collection')) };

/** Definitions of collections, for superusers. */
export const collectionRoutes = [
  route({
    ...reading,
    path: '/api/collections',
    id: 'listCollections',
    summary: 'List collections',
    parameters: listParameters,
    answers: { 200: jsonAnswer('The definitions.', schemaReference('CollectionList')) },
    handle: async (context) => {
      const withSystem = hasScope(context.caller, 'admin');
      const listing = { ...changeOf(context.instance), withSystem };
      return context.answerList(await listCollections(listing, context.listQuery), collectionToJson);
    },
  }),
  route({
    ...writing,
    method: 'POST',
    path: '/api/collections',
    id: 'createCollection',
    summary: 'Create a collection',
    parameters: ['Fields'],
    body: { ...schemaReference('CollectionInput'), required: ['name'] },
    answers,
    handle: async (context) => {
      const saving = savingOf(context);
      return context.answer(collectionToJson(await createCollection(saving, context.body)));
    },
  }),
  route({
    ...reading,
    path: '/api/collections/meta/scaffolds',
    id: 'getScaffolds',
    summary: 'Get collection templates',
    description: 'Without `created` and `updated`, which every new collection gets.',
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('By type of collection.', schemaReference('Scaffolds')) },
    handle: (context) => {
      const [auth, base, view] = (['auth', 'base', 'view'] as const).map((type) =>
        collectionToJson(withIndexes(withoutDates(scaffoldCollection(type)))),
      );
      return context.answer(`{"auth":${auth},"base":${base},"view":${view}}`);
    },
  }),
  route({
    ...reading,
    path: '/api/collections/meta/oauth2-providers',
    id: 'getOAuth2Providers',
    summary: 'List the sign-in providers that a collection can have',
    parameters: ['Fields'],
    answers: {
      200: jsonAnswer('The providers.', {
        type: 'array',
        items: objectSchema({ name: text, displayName: text, logo: { ...text, description: 'SVG.' } }),
      }),
    },
    handle: (context) => context.answer(JSON.stringify(listProviders())),
  }),
  route({
    ...common,
    method: 'GET',
    // Counts are what a list of its records shows.
    scope: 'records:read',
    path: '/api/collections/meta/stats',
    id: 'getCollectionStats',
    summary: 'Count the records of all collections, and their changes of the last 24 hours',
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('The counts.', schemaReference('CollectionStats')) },
    handle: async (context) =>
      context.answer(JSON.stringify(await collectionStats(context.instance, context.caller))),
  }),
  route({
    ...reading,
    path: '/api/collections/meta/types',
    id: 'getCollectionTypes',
    summary: 'Download TypeScript types of the collections, for the PocketBase SDK',
    description:
      'What `chancery types` writes. Collections with more than 5,000 fields together are rejected.',
    answers: { 200: { description: 'A TypeScript module.', content: { 'text/plain': { schema: text } } } },
    handle: async ({ instance }) => {
      // Another node may have changed the definitions.
      await instance.refresh();
      const headers = { 'content-disposition': 'attachment; filename="chancery-types.ts"' };
      return textAnswer(200, await typesOf(instance.collections.all()), headers);
    },
  }),
  route({
    ...writing,
    method: 'PUT',
    path: '/api/collections/import',
    id: 'importCollections',
    summary: 'Import collections: create, update and delete, all or none',
    description: `At most ${collectionLimits.importPartsMax} collections, fields, indexes and rules in all.`,
    body: schemaReference('CollectionImport'),
    answers: { 204: emptyAnswer('The collections match the import.') },
    handle: async (context) => {
      await importCollections(deletionOf(context), context.body);
      return nothing;
    },
  }),
  route({
    ...common,
    method: 'POST',
    scope: 'collections:read',
    path: '/api/collections/import/plan',
    id: 'planImport',
    summary: 'Preview the changes of an import',
    description:
      'Rejects definitions that an import would reject. Records are only checked with `checkRecords`, which needs the scope `collections:write`.',
    parameters: ['CheckRecords'],
    body: schemaReference('CollectionImport'),
    answers: { 200: jsonAnswer('The changes.', schemaReference('ImportPlan')) },
    handle: async (context) => {
      const { created, changed, removed } = await planOf(context);
      for (const { before } of changed) requireReach(context.caller, before);
      const pairs = changed.map(
        ({ before, after }) => `{"before":${collectionToJson(before)},"after":${collectionToJson(after)}}`,
      );
      const [createdJson, deletedJson] = [created, removed].map((some) =>
        some.map(collectionToJson).join(','),
      );
      return context.answer(
        `{"created":[${createdJson}],"changed":[${pairs.join(',')}],"deleted":[${deletedJson}]}`,
      );
    },
  }),
  route({
    ...common,
    method: 'POST',
    scope: 'collections:write',
    path: '/api/collections/meta/dry-run-view',
    id: 'dryRunView',
    summary: 'Try the query of a view: its fields, and ten records at most',
    parameters: ['Fields'],
    body: schemaReference('ViewQuery'),
    answers: { 200: jsonAnswer('What the view would have.', schemaReference('DryRunView')) },
    handle: async (context) =>
      context.answer(await dryRunView(context.instance, context.caller, context.body)),
  }),
  route({
    ...reading,
    path: '/api/collections/:collection',
    id: 'getCollection',
    summary: 'Get a collection',
    parameters: ['Collection', 'Fields'],
    answers,
    handle: (context) => {
      const collection = getCollection(context.instance.collections, context.params.collection);
      requireReach(context.caller, collection);
      return context.answer(collectionToJson(collection));
    },
  }),
  route({
    ...writing,
    method: 'PATCH',
    path: '/api/collections/:collection',
    id: 'updateCollection',
    summary: 'Update a collection; remaining fields keep their values',
    parameters: ['Collection', 'Fields'],
    body: schemaReference('CollectionInput'),
    isBodyOptional: true,
    answers,
    handle: async (context) => {
      const { params, body } = context;
      const collection = await updateCollection(savingOf(context), params.collection, body);
      return context.answer(collectionToJson(collection));
    },
  }),
  route({
    ...writing,
    method: 'DELETE',
    path: '/api/collections/:collection',
    id: 'deleteCollection',
    summary: 'Delete a collection with its records',
    description: 'Creates no events for its records.',
    parameters: ['Collection'],
    answers: { 204: emptyAnswer('The collection is deleted.') },
    refusals: [...writing.refusals, 413, 415],
    handle: async (context) => {
      await deleteCollection(deletionOf(context), context.params.collection);
      return nothing;
    },
  }),
  route({
    ...writing,
    method: 'DELETE',
    path: '/api/collections/:collection/truncate',
    id: 'truncateCollection',
    scope: 'records:write',
    summary: 'Delete all records of a collection, each with its event',
    parameters: ['Collection'],
    answers: { 204: emptyAnswer('The records are deleted.') },
    refusals: [...writing.refusals, 413, 415],
    handle: async ({ instance, input, params }) => {
      await truncateCollection(instance, input, params.collection);
      return nothing;
    },
  }),
];

/** Returns the types of the collections: no key that reads definitions is bound to some. Throws bad_request for too many fields. */
async function typesOf(collections: readonly Collection[]): Promise<string> {
  const typed = collections.filter(({ system }) => !system);
  const { withinLimit } = await import('../schemas/event-schemas.ts');
  if (withinLimit(typed).length < typed.length)
    throw new AppError(
      'bad_request',
      'The collections have too many fields for this route. Write their types with the command chancery types.',
    );
  return typedClient(typed.map((collection) => objectOf(JSON.parse(collectionToJson(collection)))));
}

/** Every new collection gets `created` and `updated`. A client that adds them itself, as dashboards do, would otherwise send both twice. */
function withoutDates(scaffold: Collection): Collection {
  return { ...scaffold, fields: scaffold.fields.filter(({ type }) => type !== 'autodate') };
}

/** Returns what an import would do. Whether the records allow it shows only in a transaction, which is rolled back. */
async function planOf(context: RequestContext): Promise<ImportPlan> {
  const { instance, caller, query, body } = context;
  const word = query.get('checkRecords') ?? '';
  const isRehearsed = word === '' ? false : booleanOf(word);
  if (isRehearsed === undefined)
    throw parameterError('checkRecords', 'Expected checkRecords to be true or false.');
  if (isRehearsed) {
    // Other writes wait meanwhile.
    if (!hasScope(caller, 'collections:write'))
      throw new AppError('forbidden', 'With checkRecords, the API key needs the scope collections:write.');
    return rehearseImport(deletionOf(context), body);
  }
  const { collections, clock, database } = instance;
  return readImportPlan(collections.all(), body, { now: clock.now(), database });
}

function changeOf(instance: Instance): CollectionChange {
  return { database: instance.database, collections: instance.collections, now: instance.clock.now() };
}

type ChangeContext = Pick<RequestContext, 'instance' | 'input' | 'services'>;

function savingOf({ instance, input, services }: ChangeContext): CollectionSaving {
  const { caller } = input;
  const audit = instance.audit;
  const newIds = new Set<string>();
  return {
    ...changeOf(instance),
    onChange: async (tx, { before, after }) => {
      if (before !== undefined) requireReach(caller, before);
      else if (after !== undefined) newIds.add(after.id);
      // A view shows what it reads.
      for (const id of after?.view?.reads ?? []) {
        const source = instance.collections.find(id);
        if (source !== undefined) requireReach(caller, source);
      }
      const entry = auditCollectionChange(before, after);
      if (entry !== undefined) await audit.append(tx, input, entry);
      if (before === undefined) return;
      await noteLostFiles(tx, instance, { before, after });
      if (after !== undefined) await deleteProviderSecrets(tx, before, after);
    },
    onRename: async (tx, names) => {
      const settings = await renameLabels(tx, instance.settings, names);
      if (settings === undefined) return;
      const changed = changedPaths(settings.before, settings.after);
      await audit.append(tx, input, { action: 'settings.update', details: { changed } });
    },
    onDefinitions: async (tx, collections) => {
      await pauseBroken(tx, instance, collectionsOf(collections));
      await reconcileAll(tx, instance);
      tx.afterCommit(() => services.dispatcher.wake(instance.id));
    },
    onTokenSecrets: async (tx, { id, system }, secrets) => {
      await writeTokenSecrets(tx, instance.sealer, { collection: id, secrets });
      if (secrets.size === 0 || newIds.has(id)) return;
      // An import may bring secrets for a definition that it leaves as it is.
      requireReach(caller, { id, system });
      const details = { changed: [...secrets.keys()] };
      await audit.append(tx, input, { action: 'collection.secrets', collection: id, details });
    },
  };
}

function deletionOf(context: ChangeContext): CollectionDeletion {
  const { instance } = context;
  return {
    ...savingOf(context),
    onDeleted: async (tx, collection) => {
      await forgetCollection(tx, instance, collection);
      // One that is made again by its name has its id, and may have accounts with the ids of those that were.
      if (collection.type === 'auth') await eraseAccount({ instance, tx }, { collection });
    },
  };
}

/** Adds the indexes of an auth collection, under names that no other collection has. */
function withIndexes(scaffold: Collection): Collection {
  if (scaffold.auth === undefined) return scaffold;
  return { ...scaffold, indexes: withAccountIndexes(randomText(10, idAlphabet), []) };
}
