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
import { parseListQuery } from '../../lists/list-query.ts';
import { forgetCollection } from '../../webhooks/change-endpoint.ts';
import { answer, listJson } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
import { queryOf } from '../query-string.ts';
import { superuserContextOf } from '../request-context.ts';

interface CollectionPath {
  Params: { collection: string };
}

/** Definitions of collections, for superusers. */
export function collectionRoutes(app: FastifyInstance): void {
  app.get('/api/collections', async (request, reply) => {
    const { instance } = await superuserContextOf(request);
    const query = parseListQuery(queryOf(request));
    const page = await listCollections(changeOf(instance), query);
    return answer(request, reply, { json: listJson(page, page.items.map(collectionToJson)), isList: true });
  });

  app.post('/api/collections', async (request, reply) => {
    const { instance } = await superuserContextOf(request);
    const collection = await createCollection(changeOf(instance), bodyOf(request));
    return answer(request, reply, { json: collectionToJson(collection) });
  });

  app.get<CollectionPath>('/api/collections/:collection', async (request, reply) => {
    const { instance } = await superuserContextOf(request);
    const collection = getCollection(instance.collections, request.params.collection);
    return answer(request, reply, { json: collectionToJson(collection) });
  });

  app.patch<CollectionPath>('/api/collections/:collection', async (request, reply) => {
    const { instance } = await superuserContextOf(request);
    const collection = await updateCollection(changeOf(instance), request.params.collection, bodyOf(request));
    return answer(request, reply, { json: collectionToJson(collection) });
  });

  app.delete<CollectionPath>('/api/collections/:collection', async (request, reply) => {
    const { instance } = await superuserContextOf(request);
    const deletion = {
      ...changeOf(instance),
      onDeleted: (
        tx: Parameters<typeof forgetCollection>[0],
        collection: Parameters<typeof forgetCollection>[2],
      ) => forgetCollection(tx, instance, collection),
    };
    await deleteCollection(deletion, request.params.collection);
    return reply.code(204).send();
  });
}

function changeOf(instance: Instance): CollectionChange {
  return { database: instance.database, collections: instance.collections, now: instance.clock.now() };
}
