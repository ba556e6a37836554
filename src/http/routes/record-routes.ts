import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { createRecord } from '../../records/create-record.ts';
import { deleteRecord } from '../../records/delete-record.ts';
import { listRecords } from '../../records/list-records.ts';
import { readRecord } from '../../records/read-record.ts';
import { recordToJson } from '../../records/record.ts';
import { updateRecord } from '../../records/update-record.ts';
import { answer, answerNothing, listJson } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
import { queryOf } from '../query-string.ts';
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
        const page = await listRecords(instance, caller, { collection, query: queryOf(request) });
        const isSuperuser = caller.kind === 'superuser';
        const items = page.items.map((record) => recordToJson(record, isSuperuser));
        return answer(request, reply, { json: listJson(page, items), isList: true });
      }),
    );

    app.post<CollectionPath>(
      path,
      onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection } = request.params;
        const record = await createRecord(instance, caller, { collection, body: bodyOf(request) });
        return answer(request, reply, {
          status: 201,
          json: recordToJson(record, caller.kind === 'superuser'),
        });
      }),
    );

    app.get<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const record = await readRecord(instance, caller, request.params);
        return answer(request, reply, { json: recordToJson(record, caller.kind === 'superuser') });
      }),
    );

    app.patch<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection, id } = request.params;
        const record = await updateRecord(instance, caller, { collection, id, body: bodyOf(request) });
        return answer(request, reply, { json: recordToJson(record, caller.kind === 'superuser') });
      }),
    );

    app.delete<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        await deleteRecord(instance, caller, request.params);
        return answerNothing(request, reply);
      }),
    );
  }
}
