import { assert } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import type { QueryReader } from '../lists/list-query.ts';
import type { Instance } from '../instances/instance.ts';
import { BatchItemFailed, type BatchEntry, type BatchResult } from '../records/batch.ts';
import { answerBytesMax, answerTooLarge } from '../storage/answer-too-large.ts';
import type { Reader } from '../storage/database.ts';
import { projected } from './answer.ts';
import type { WriteAnswer } from './answer-write.ts';
import { errorEnvelope } from './error-response.ts';
import { recordAnswer } from './record-answer.ts';

export interface BatchAnswerOptions {
  readonly instance: Instance;
  /** The batch's transaction. */
  readonly reader: Reader;
  /** The query of the batch itself: its `fields` applies to each item of the answer. */
  readonly query: QueryReader;
  readonly entries: readonly BatchEntry[];
}

/** Returns, in order, the answer that each request would have had alone. Throws bad_request when they are too large together. */
export async function batchAnswer(
  results: readonly BatchResult[],
  options: BatchAnswerOptions,
): Promise<WriteAnswer> {
  const answers: WriteAnswer[] = [];
  let length = 0;
  for (const [index, result] of results.entries()) {
    const answer = await itemAnswer(result, index, options);
    length += answer.json?.length ?? 0;
    if (length > answerBytesMax) throw answerTooLarge();
    answers.push(answer);
  }
  const json = answers.map(({ status, json = 'null' }) => `{"body":${json},"status":${status}}`);
  const ids = answers.map(({ status, idsJson = () => 'null' }) => `{"body":${idsJson()},"status":${status}}`);
  return {
    status: 200,
    json: projected(options.query, `[${json.join(',')}]`),
    idsJson: () => `[${ids.join(',')}]`,
  };
}

async function itemAnswer(
  result: BatchResult,
  index: number,
  { instance, reader, entries }: BatchAnswerOptions,
): Promise<WriteAnswer> {
  const entry = entries[index];
  assert(entry !== undefined, 'every result is that of an entry');
  if (result.kind === 'deleted') return { status: 204 };
  const status = result.kind === 'created' ? 201 : 200;
  return recordAnswer({ instance, reader, facts: entry.facts }, result.record, status);
}

/** Returns the error that a failed batch is answered with: that of the item itself where it failed by no fault of the client. */
export function toBatchError(error: unknown): unknown {
  if (!(error instanceof BatchItemFailed)) return error;
  const { cause, index } = error;
  if (!(cause instanceof AppError)) return cause;
  const response = errorEnvelope(cause);
  if (response.status >= 500) return cause;
  const failed = { code: 'batch_request_failed', message: 'Batch request failed.', response };
  const details = { requests: { [index]: failed } };
  const { retryAfter } = cause;
  return new AppError('bad_request', 'Batch transaction failed.', {
    details,
    cause,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}
