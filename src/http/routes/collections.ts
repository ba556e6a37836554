import type { FastifyInstance, RouteGenericInterface } from 'fastify';
import { hasScope, requireReach } from '../../access/caller.ts';
import type { RuleInput } from '../../access/rule-input.ts';
import { type Collection, collectionToJson } from '../../collections/collection.ts';
import {
  type CollectionChange,
  type CollectionDeletion,
  type CollectionSaving,
  createCollection,
  deleteCollection,
  getCollection,
  updateCollection,
} from '../../definitions/change-collection.ts';
import { importCollections } from '../../definitions/import-collections.ts';
import { listCollections, scaffoldCollection } from '../../definitions/list-collections.ts';
import type { Instance } from '../../instances/instance.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { writeTokenSecrets } from '../../instances/token-secrets.ts';
import { auditCollectionChange, changedPaths } from '../../logs/audit-entry.ts';
import { auditLogOf } from '../../logs/audit-log.ts';
import { parseListQuery } from '../../query/list-query.ts';
import { listJson } from '../../query/run-list.ts';
import { eraseAccount } from '../../records/accounts/sessions.ts';
import { truncateCollection } from '../../records/truncate-collection.ts';
import { renameLabels } from '../../settings/change-settings.ts';
import { forgetCollection } from '../../webhooks/endpoints/change-endpoint.ts';
import { answer, answerNothing } from '../answer.ts';
import { bodyOf } from '../body.ts';
import { emptyAnswer, jsonAnswer, listParameters, operation } from '../openapi/operation.ts';
import { type Paths, schemaReference } from '../openapi/schema.ts';
import { queryOf } from '../request.ts';
import { onInstanceAsSuperuser } from '../route.ts';
import { ruleInput } from '../rule-input.ts';

interface CollectionPath {
  Params: { collection: string };
}

/** Definitions of collections, for superusers. */
export function collectionRoutes(app: FastifyInstance, instances: OpenInstances): void {
  wholesaleRoutes(app, instances);
  app.get(
    '/api/collections',
    onCurrentInstance(instances, async ({ instance, caller }, request, reply) => {
      const query = parseListQuery(queryOf(request));
      const withSystem = hasScope(caller, 'admin');
      const page = await listCollections({ ...changeOf(instance), withSystem }, query);
      return answer(request, reply, { json: listJson(page, page.items.map(collectionToJson)), isList: true });
    }),
  );

  app.post(
    '/api/collections',
    onCurrentInstance(instances, async ({ instance, caller }, request, reply) => {
      const collection = await createCollection(
        savingOf(instance, ruleInput(request, caller)),
        bodyOf(request),
      );
      return answer(request, reply, { json: collectionToJson(collection) });
    }),
  );

  app.get<CollectionPath>(
    '/api/collections/:collection',
    onCurrentInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      const collection = getCollection(instance.collections, request.params.collection);
      requireReach(caller, collection);
      return answer(request, reply, { json: collectionToJson(collection) });
    }),
  );

  app.patch<CollectionPath>(
    '/api/collections/:collection',
    onCurrentInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      const collection = await updateCollection(
        savingOf(instance, ruleInput(request, caller)),
        request.params.collection,
        bodyOf(request),
      );
      return answer(request, reply, { json: collectionToJson(collection) });
    }),
  );

  app.delete<CollectionPath>(
    '/api/collections/:collection',
    onCurrentInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      await deleteCollection(deletionOf(instance, ruleInput(request, caller)), request.params.collection);
      return answerNothing(request, reply);
    }),
  );
}

/** Routes for several definitions at once, and for all records of a collection. */
function wholesaleRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.get(
    '/api/collections/meta/scaffolds',
    onCurrentInstance(instances, async (_context, request, reply) => {
      const [auth, base] = (['auth', 'base'] as const).map((type) =>
        collectionToJson(withoutDates(scaffoldCollection(type))),
      );
      return answer(request, reply, { json: `{"auth":${auth},"base":${base}}` });
    }),
  );

  app.get(
    '/api/collections/meta/oauth2-providers',
    // None, until there is a sign-in with OAuth2. Dashboards ask for them before they show a collection.
    onInstanceAsSuperuser(instances, async (_context, request, reply) =>
      answer(request, reply, { json: '[]' }),
    ),
  );

  app.put(
    '/api/collections/import',
    onCurrentInstance(instances, async ({ instance, caller }, request, reply) => {
      await importCollections(deletionOf(instance, ruleInput(request, caller)), bodyOf(request));
      return answerNothing(request, reply);
    }),
  );

  app.delete<CollectionPath>(
    '/api/collections/:collection/truncate',
    onCurrentInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      await truncateCollection(instance, ruleInput(request, caller), request.params.collection);
      return answerNothing(request, reply);
    }),
  );
}

/** Every new collection gets `created` and `updated`. A client that adds them itself, as dashboards do, would otherwise send both twice. */
function withoutDates(scaffold: Collection): Collection {
  return { ...scaffold, fields: scaffold.fields.filter(({ type }) => type !== 'autodate') };
}

/** As `onInstanceAsSuperuser`, with the current definitions, whichever node changed them last. */
function onCurrentInstance<Route extends RouteGenericInterface>(
  instances: OpenInstances,
  serve: Parameters<typeof onInstanceAsSuperuser<Route>>[1],
): ReturnType<typeof onInstanceAsSuperuser<Route>> {
  return onInstanceAsSuperuser<Route>(instances, async (context, request, reply) => {
    await context.instance.refresh();
    return serve(context, request, reply);
  });
}

function changeOf(instance: Instance): CollectionChange {
  return { database: instance.database, collections: instance.collections, now: instance.clock.now() };
}

function savingOf(instance: Instance, facts: RuleInput): CollectionSaving {
  const { caller } = facts;
  const audit = auditLogOf(instance);
  const made = new Set<string>();
  return {
    ...changeOf(instance),
    onChange: async (tx, { before, after }) => {
      if (before !== undefined) requireReach(caller, before);
      else if (after !== undefined) made.add(after.id);
      const entry = auditCollectionChange(before, after);
      if (entry !== undefined) await audit.append(tx, facts, entry);
    },
    onRename: async (tx, names) => {
      const settings = await renameLabels(tx, instance.settings, names);
      if (settings === undefined) return;
      const changed = changedPaths(settings.before, settings.after);
      await audit.append(tx, facts, { action: 'settings.update', details: { changed } });
    },
    onTokenSecrets: async (tx, { id, system }, secrets) => {
      await writeTokenSecrets(tx, instance.sealer, { collection: id, secrets });
      if (secrets.size === 0 || made.has(id)) return;
      // An import may bring secrets for a definition that it leaves as it is.
      requireReach(caller, { id, system });
      const details = { changed: [...secrets.keys()] };
      await audit.append(tx, facts, { action: 'collection.secrets', collection: id, details });
    },
  };
}

function deletionOf(instance: Instance, facts: RuleInput): CollectionDeletion {
  return {
    ...savingOf(instance, facts),
    onDeleted: async (tx, collection) => {
      await forgetCollection(tx, instance, collection);
      // One that is made again by its name has its id, and may have accounts with the ids of those that were.
      if (collection.type === 'auth') await eraseAccount({ instance, tx }, { collection });
    },
  };
}

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
