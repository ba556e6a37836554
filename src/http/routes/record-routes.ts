import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { createRecord } from '../../records/create-record.ts';
import { deleteRecord } from '../../records/delete-record.ts';
import { listRecords } from '../../records/list-records.ts';
import { readRecord } from '../../records/read-record.ts';
import { presentRecords } from '../../records/present-records.ts';
import { updateRecord } from '../../records/update-record.ts';
import { answer, answerNothing, listJson } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
import { factsOf } from '../request-facts.ts';
import { onInstance } from '../on-instance.ts';

interface CollectionPath {
  Params: { collection: string };
}

interface RecordPath {
  Params: { collection: string; id: string };
}

/** The five operations on records, under both of their paths. */
export function recordRoutes(app: FastifyInstance, instances: OpenInstances): void {
  for (const path of ['/api/collections/:collection/records', '/api/records/:collection']) {
    app.get<CollectionPath>(
      path,
      onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection } = request.params;
        const facts = factsOf(request, caller);
        const page = await listRecords(instance, facts, { collection, query: facts.query });
        const items = await presentRecords(instance, facts, page.items);
        return answer(request, reply, { json: listJson(page, items), isList: true });
      }),
    );

    app.post<CollectionPath>(
      path,
      onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection } = request.params;
        const facts = factsOf(request, caller);
        const record = await createRecord(instance, facts, { collection, body: bodyOf(request) });
        const [json = ''] = await presentRecords(instance, facts, [record]);
        return answer(request, reply, { status: 201, json });
      }),
    );

    app.get<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const facts = factsOf(request, caller);
        const record = await readRecord(instance, facts, request.params);
        const [json = ''] = await presentRecords(instance, facts, [record]);
        return answer(request, reply, { json });
      }),
    );

    app.patch<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection, id } = request.params;
        const facts = factsOf(request, caller);
        const record = await updateRecord(instance, facts, { collection, id, body: bodyOf(request) });
        const [json = ''] = await presentRecords(instance, facts, [record]);
        return answer(request, reply, { json });
      }),
    );

    app.delete<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        await deleteRecord(instance, factsOf(request, caller), request.params);
        return answerNothing(request, reply);
      }),
    );
  }
}
