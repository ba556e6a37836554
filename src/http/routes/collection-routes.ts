import type { FastifyInstance } from 'fastify';
import {
  createCollection,
  deleteCollection,
  getCollection,
  updateCollection,
  type CollectionChange,
} from '../../collections/change-collection.ts';
import { collectionToJson } from '../../collections/collection.ts';
import { listCollections } from '../../collections/list-collections.ts';
import type { Instance } from '../../instances/instance.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { parseListQuery } from '../../lists/list-query.ts';
import { forgetCollection } from '../../webhooks/change-endpoint.ts';
import { truncateCollection } from '../../records/truncate-collection.ts';
import { answer, answerNothing, listJson } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
import { queryOf } from '../query-string.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';

interface CollectionPath {
  Params: { collection: string };
}

/** Definitions of collections, for superusers. */
export function collectionRoutes(app: FastifyInstance, instances: OpenInstances): void {
  contentRoutes(app, instances);
  app.get(
    '/api/collections',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const query = parseListQuery(queryOf(request));
      const page = await listCollections(changeOf(instance), query);
      return answer(request, reply, { json: listJson(page, page.items.map(collectionToJson)), isList: true });
    }),
  );

  app.post(
    '/api/collections',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const collection = await createCollection(changeOf(instance), bodyOf(request));
      return answer(request, reply, { json: collectionToJson(collection) });
    }),
  );

  app.get<CollectionPath>(
    '/api/collections/:collection',
    onInstanceAsSuperuser<CollectionPath>(instances, async ({ instance }, request, reply) => {
      const collection = getCollection(instance.collections, request.params.collection);
      return answer(request, reply, { json: collectionToJson(collection) });
    }),
  );

  app.patch<CollectionPath>(
    '/api/collections/:collection',
    onInstanceAsSuperuser<CollectionPath>(instances, async ({ instance }, request, reply) => {
      const collection = await updateCollection(
        changeOf(instance),
        request.params.collection,
        bodyOf(request),
      );
      return answer(request, reply, { json: collectionToJson(collection) });
    }),
  );

  app.delete<CollectionPath>(
    '/api/collections/:collection',
    onInstanceAsSuperuser<CollectionPath>(instances, async ({ instance }, request, reply) => {
      const deletion = {
        ...changeOf(instance),
        onDeleted: (
          tx: Parameters<typeof forgetCollection>[0],
          collection: Parameters<typeof forgetCollection>[2],
        ) => forgetCollection(tx, instance, collection),
      };
      await deleteCollection(deletion, request.params.collection);
      return answerNothing(request, reply);
    }),
  );
}

/** What is done with the records of a collection as a whole. */
function contentRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.delete<CollectionPath>(
    '/api/collections/:collection/truncate',
    onInstanceAsSuperuser<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      await truncateCollection(instance, caller, request.params.collection);
      return answerNothing(request, reply);
    }),
  );
}

function changeOf(instance: Instance): CollectionChange {
  return { database: instance.database, collections: instance.collections, now: instance.clock.now() };
}
