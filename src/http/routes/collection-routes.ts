import type { FastifyInstance, RouteGenericInterface } from 'fastify';
import {
  createCollection,
  deleteCollection,
  getCollection,
  updateCollection,
  type CollectionChange,
  type CollectionDeletion,
  type CollectionSaving,
} from '../../collections/change-collection.ts';
import { collectionToJson } from '../../collections/collection.ts';
import { importCollections } from '../../collections/import-collections.ts';
import { listCollections } from '../../collections/list-collections.ts';
import { scaffoldCollection } from '../../collections/scaffold-collection.ts';
import type { Instance } from '../../instances/instance.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { writeTokenSecrets } from '../../instances/token-secrets.ts';
import { parseListQuery } from '../../lists/list-query.ts';
import type { Caller } from '../../rules/caller.ts';
import { hasScope } from '../../rules/has-scope.ts';
import { requireReach } from '../../rules/reaches.ts';
import { forgetCollection } from '../../webhooks/change-endpoint.ts';
import { truncateCollection } from '../../records/truncate-collection.ts';
import { answer, answerNothing, listJson } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
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
      const collection = await createCollection(savingOf(instance, caller), bodyOf(request));
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
        savingOf(instance, caller),
        request.params.collection,
        bodyOf(request),
      );
      return answer(request, reply, { json: collectionToJson(collection) });
    }),
  );

  app.delete<CollectionPath>(
    '/api/collections/:collection',
    onCurrentInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      await deleteCollection(deletionOf(instance, caller), request.params.collection);
      return answerNothing(request, reply);
    }),
  );
}

/** What concerns more than one definition, and the records of a collection as a whole. */
function wholesaleRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.get(
    '/api/collections/meta/scaffolds',
    onCurrentInstance(instances, async (_context, request, reply) => {
      const [auth, base] = (['auth', 'base'] as const).map((type) =>
        collectionToJson(scaffoldCollection(type)),
      );
      return answer(request, reply, { json: `{"auth":${auth},"base":${base}}` });
    }),
  );

  app.put(
    '/api/collections/import',
    onCurrentInstance(instances, async ({ instance, caller }, request, reply) => {
      await importCollections(deletionOf(instance, caller), bodyOf(request));
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

/** With the definitions as they are now, whichever node changed them last. */
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

function savingOf(instance: Instance, caller: Caller): CollectionSaving {
  return {
    ...changeOf(instance),
    onChange: async (_tx, { before }) => {
      if (before !== undefined) requireReach(caller, before);
    },
    onTokenSecrets: async (tx, collection, secrets) => {
      // An import may bring secrets for a definition that it leaves as it is.
      if (secrets.size > 0) requireReach(caller, collection);
      await writeTokenSecrets(tx, instance.sealer, { collection: collection.id, secrets });
    },
  };
}

function deletionOf(instance: Instance, caller: Caller): CollectionDeletion {
  return {
    ...savingOf(instance, caller),
    onDeleted: (tx, collection) => forgetCollection(tx, instance, collection),
  };
}
