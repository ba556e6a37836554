import type { FastifyReply, FastifyRequest } from 'fastify';
import { idempotentRequest, type IdempotentRequest, runOnce } from '../records/idempotency.ts';
import type { RecordWrite } from '../records/record-write.ts';
import type { WriteOptions } from '../storage/database.ts';
import type { RequestContext } from './route.ts';
import { type Answer, sendAnswer } from './answer.ts';

/** The answer to a write, and the part of it to keep under an Idempotency-Key. */
export interface WriteAnswer extends Answer {
  readonly json?: string;
  /** The body to keep when `json` is too large to be kept; absent where there is no body. */
  readonly idsJson?: () => string;
}

export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** How the write is to be run. */
  readonly options?: WriteOptions;
}

/** Runs a write and answers once it is synced. A write that was already answered under the same Idempotency-Key is not run again. */
export async function answerWrite(
  { instance, caller }: RequestContext,
  { request, reply, options = {} }: Exchange,
  write: RecordWrite<WriteAnswer>,
): Promise<void> {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return sendAnswer(request, reply, await instance.database.write(write, options));
  const { isAppending: _, changes: __, ...alone } = options;
  const idempotent = toIdempotent(String(key), request, { instance, caller });
  const { answer, isReplayed } = await instance.database.write(
    (tx) =>
      runOnce(tx, { request: idempotent, now: instance.clock.now() }, async () => {
        const { status, json, headers = {}, idsJson = () => '{}' } = await write(tx);
        return { status, json, headers, idsJson };
      }),
    // Without the options that let writes share a transaction: they promise a single changed row, and the key is another one.
    alone,
  );
  const { status, json } = answer;
  const headers = isReplayed ? { ...answer.headers, 'idempotent-replayed': 'true' } : answer.headers;
  return sendAnswer(request, reply, { status, headers, ...(json === undefined ? {} : { json }) });
}

function toIdempotent(
  key: string,
  request: FastifyRequest,
  { instance, caller }: RequestContext,
): IdempotentRequest {
  const { sealer } = instance;
  const { method, body, headers } = request;
  const [path = '', ...query] = (request.raw.url ?? '').split('?');
  const ifMatch = headers['if-match'];
  return idempotentRequest(key, { sealer, caller, method, path, query: query.join('?'), ifMatch, body });
}
