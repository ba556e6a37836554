import type { FastifyInstance, RouteGenericInterface } from 'fastify';
import { auditCollectionChange } from '../../audit/audit-collection-change.ts';
import { auditLogOf } from '../../audit/audit-log.ts';
import { changedPaths } from '../../audit/changed-paths.ts';
import {
  createCollection,
  deleteCollection,
  getCollection,
  updateCollection,
  type CollectionChange,
  type CollectionDeletion,
  type CollectionSaving,
} from '../../collections/change-collection.ts';
import { collectionToJson, type Collection } from '../../collections/collection.ts';
import { importCollections } from '../../collections/import-collections.ts';
import { listCollections } from '../../collections/list-collections.ts';
import { scaffoldCollection } from '../../collections/scaffold-collection.ts';
import type { Instance } from '../../instances/instance.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { writeTokenSecrets } from '../../instances/token-secrets.ts';
import { parseListQuery } from '../../lists/list-query.ts';
import { hasScope } from '../../rules/has-scope.ts';
import { requireReach } from '../../rules/reaches.ts';
import type { RequestFacts } from '../../rules/request-facts.ts';
import { renameLabels } from '../../settings/rename-labels.ts';
import { forgetCollection } from '../../webhooks/endpoints/change-endpoint.ts';
import { eraseAccount } from '../../records/accounts/erase-account.ts';
import { truncateCollection } from '../../records/truncate-collection.ts';
import { listJson } from '../../lists/list-json.ts';
import { answer, answerNothing } from '../answer.ts';
import { bodyOf } from '../request-body.ts';
import { queryOf } from '../query-string.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';
import { factsOf } from '../request-facts.ts';

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
        savingOf(instance, factsOf(request, caller)),
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
        savingOf(instance, factsOf(request, caller)),
        request.params.collection,
        bodyOf(request),
      );
      return answer(request, reply, { json: collectionToJson(collection) });
    }),
  );

  app.delete<CollectionPath>(
    '/api/collections/:collection',
    onCurrentInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      await deleteCollection(deletionOf(instance, factsOf(request, caller)), request.params.collection);
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
      await importCollections(deletionOf(instance, factsOf(request, caller)), bodyOf(request));
      return answerNothing(request, reply);
    }),
  );

  app.delete<CollectionPath>(
    '/api/collections/:collection/truncate',
    onCurrentInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      await truncateCollection(instance, factsOf(request, caller), request.params.collection);
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

function savingOf(instance: Instance, facts: RequestFacts): CollectionSaving {
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

function deletionOf(instance: Instance, facts: RequestFacts): CollectionDeletion {
  return {
    ...savingOf(instance, facts),
    onDeleted: async (tx, collection) => {
      await forgetCollection(tx, instance, collection);
      // One that is made again by its name has its id, and may have accounts with the ids of those that were.
      if (collection.type === 'auth') await eraseAccount({ instance, tx }, { collection });
    },
  };
}
