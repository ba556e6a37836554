import type { FastifyInstance } from 'fastify';
import type { Access } from '../../storage/database.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { prepareCreate } from '../../records/create-record.ts';
import { prepareDelete } from '../../records/delete-record.ts';
import { listRecords } from '../../records/list-records.ts';
import { readRecord } from '../../records/read-record.ts';
import { prepareUpdate } from '../../records/update-record.ts';
import { answerWrite } from '../answer-write.ts';
import { answer } from '../answer.ts';
import { expectedRevision, isAlreadyKnown } from '../entity-tag.ts';
import { bodyOf } from '../request-body.ts';
import { factsOf } from '../request-facts.ts';
import { onInstance } from '../on-instance.ts';
import { recordAnswer } from '../record-answer.ts';
import { rowAnswer } from '../row-answer.ts';
import { sendAnswer } from '../send-answer.ts';

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
        const { json, access } = await listRecords(instance, facts, { collection, query: facts.query });
        return answer(request, reply, { json, isList: true, headers: timing(access) });
      }),
    );

    app.post<CollectionPath>(
      path,
      onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection } = request.params;
        const facts = factsOf(request, caller);
        const write = await prepareCreate(instance, facts, { collection, body: bodyOf(request) });
        return answerWrite(
          { instance, caller },
          { request, reply, options: { isAppending: true } },
          async (tx) => recordAnswer({ instance, facts, reader: tx }, await write(tx), 201),
        );
      }),
    );

    app.get<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const facts = factsOf(request, caller);
        const shown = rowAnswer(facts.query, await readRecord(instance, facts, request.params));
        // With `expand` a full answer is sent: expanded records have revisions of their own, which the tag does not cover.
        const isFresh =
          !facts.query.get('expand') && isAlreadyKnown(request.headers['if-none-match'], shown.headers.etag);
        return sendAnswer(request, reply, isFresh ? { status: 304, headers: shown.headers } : shown);
      }),
    );

    app.patch<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection, id } = request.params;
        const facts = factsOf(request, caller);
        const expected = expectedRevision(request.headers['if-match']);
        const body = bodyOf(request);
        const write = await prepareUpdate(instance, facts, { collection, id, body, expected });
        return answerWrite({ instance, caller }, { request, reply, options: { changes: id } }, async (tx) =>
          recordAnswer({ instance, facts, reader: tx }, await write(tx), 200),
        );
      }),
    );

    app.delete<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const expected = expectedRevision(request.headers['if-match']);
        const facts = factsOf(request, caller);
        const write = await prepareDelete(instance, facts, { ...request.params, expected });
        return answerWrite({ instance, caller }, { request, reply }, async (tx) => {
          await write(tx);
          return { status: 204 };
        });
      }),
    );
  }
}

/** Tells superusers whether a list used an index or read a whole table (https://www.w3.org/TR/server-timing/). */
function timing(access: Access | undefined): Readonly<Record<string, string>> {
  return access === undefined ? {} : { 'server-timing': `query;desc="${access}"` };
}
