import type { RuleInput } from '../../access/rule-input.ts';
import { assert } from '../../base/assert.ts';
import { AppError, type FieldErrors, tooManyRequests } from '../../base/errors.ts';
import { isJsonObject, jsonLimits, type JsonLimits, type JsonObject, ownMember } from '../../base/json.ts';
import { fieldError } from '../../fields/field-error.ts';
import type { Instance } from '../../instances/instance.ts';
import type { QueryReader } from '../../query/list-query.ts';
import { type BatchEntry, type BatchItem, BatchItemFailed, type BatchResult } from '../../records/batch.ts';
import { answerBytesMax, answerTooLarge, type Reader } from '../../storage/database.ts';
import type { Admission, CountedRequest } from '../admission.ts';
import { checkFields, projected } from '../answer.ts';
import { httpLimits } from '../connections.ts';
import { errorEnvelope } from '../error-response.ts';
import { expectedRevision, recordAnswer } from '../record-answer.ts';
import { rateLimitLabels } from '../rate-limit-labels.ts';
import type { WriteAnswer } from '../request-context.ts';
import { recordPaths } from './records.ts';
import { toHeaderName } from '../rule-input.ts';

/** Reads the requests of `POST /api/batch`. Throws bad_request when their form is wrong; an invalid request becomes a refused item. */
export function readBatchRequests(
  body: JsonObject,
  input: RuleInput,
  requestsMax: number,
): readonly BatchEntry[] {
  const requests = ownMember(body, 'requests') ?? [];
  if (!Array.isArray(requests)) throw unreadable();
  if (requests.length === 0) throw invalid(fieldError('validation_required'));
  if (requests.length > requestsMax)
    throw invalid(fieldError('validation_length_too_long', { min: 0, max: requestsMax }));
  const heads = requests.map(readHead);
  const problems = Object.fromEntries(heads.flatMap((head, index) => headProblems(head, index)));
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return heads.map((head) => readEntry(head, input));
}

/** A request of a batch, whose method and path can be read. */
interface Head {
  readonly raw: JsonObject;
  readonly method: string;
  readonly url: string;
}

function readHead(raw: unknown): Head {
  if (!isJsonObject(raw)) throw unreadable();
  const method = ownMember(raw, 'method') ?? '';
  const url = ownMember(raw, 'url') ?? '';
  if (typeof method !== 'string' || typeof url !== 'string') throw unreadable();
  return { raw, method, url };
}

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

function headProblems({ method, url }: Head, index: number): readonly (readonly [string, FieldErrors])[] {
  const required = fieldError('validation_required');
  const problems: FieldErrors = {
    ...(method === '' && { method: required }),
    ...(method !== '' && !methods.has(method) && { method: fieldError('validation_in_invalid') }),
    ...(url === '' && { url: required }),
  };
  return Object.keys(problems).length === 0 ? [] : [[String(index), problems]];
}

function readEntry({ raw, method, url }: Head, ofBatch: RuleInput): BatchEntry {
  const headers = readHeaders(ownMember(raw, 'headers') ?? {});
  const isLong = lengthOf(url, headers) > httpLimits.headerBytesMax;
  const query = isLong ? new URLSearchParams() : queryOf(url);
  const body = ownMember(raw, 'body') ?? {};
  const isObject = isJsonObject(body);
  const input: RuleInput = {
    caller: ofBatch.caller,
    context: 'batch',
    method,
    query,
    headers: { get: (name) => headers.get(toHeaderName(name)) ?? ofBatch.headers.get(name) },
    body: isObject ? body : {},
    ...(ofBatch.origin && { origin: ofBatch.origin }),
    ...(ofBatch.trace && { trace: ofBatch.trace }),
  };
  try {
    if (isLong)
      throw refusal(
        `Expected at most ${httpLimits.headerBytesMax} characters in the url and the headers of a request.`,
      );
    checkFields(query);
    if (!isObject) throw refusal('Expected a JSON object as the body.');
    return {
      item: toItem({ method, url, body, expected: expectedRevision(headers.get('if-match')) }),
      input,
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { item: { kind: 'refused', error }, input };
  }
}

/** Returns the headers of one request, which override those of the batch, but for `authorization`: only the batch names the caller. */
function readHeaders(raw: unknown): ReadonlyMap<string, string> {
  if (!isJsonObject(raw)) throw unreadable();
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(raw)) {
    if (typeof value !== 'string') throw unreadable();
    headers.set(name.toLowerCase(), value);
  }
  headers.delete('authorization');
  return headers;
}

/** The same as a request of its own may have. */
function lengthOf(url: string, headers: ReadonlyMap<string, string>): number {
  let length = url.length;
  for (const [name, value] of headers) length += name.length + value.length;
  return length;
}

function queryOf(url: string): URLSearchParams {
  const text = /\?([^#]*)/.exec(url)?.[1] ?? '';
  // As in a request of its own. URLSearchParams would take quadratic time for characters beyond Latin-1.
  return new URLSearchParams(text.replaceAll(/[^\0-\x7f]+/g, encodeURIComponent));
}

type Asked = Pick<BatchItem & { kind: 'update' }, 'body' | 'expected'> & {
  readonly method: string;
  readonly url: string;
};

const PATH = /^\/api\/(?:collections\/([^/?#]+)\/records|records\/([^/?#]+))(?:\/([^/?#]+))?(?:\?[^#]*)?$/;

function toItem({ method, url, body, expected }: Asked): BatchItem {
  const [, written, alias, writtenId] = PATH.exec(url) ?? [];
  const name = written ?? alias;
  if (name !== undefined) {
    const collection = decodeSegment(name);
    if (writtenId === undefined) {
      if (method === 'POST') return { kind: 'create', collection, body };
      if (method === 'PUT') return { kind: 'upsert', collection, body, expected };
    } else {
      const id = decodeSegment(writtenId);
      if (method === 'PATCH') return { kind: 'update', collection, id, body, expected };
      if (method === 'DELETE') return { kind: 'delete', collection, id, expected };
    }
  }
  throw refusal(
    'Expected POST or PUT on /api/collections/{collection}/records, or PATCH or DELETE on a record of it.',
  );
}

/** Decodes a path segment once, as the router does. */
function decodeSegment(text: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch (error) {
    throw new AppError('bad_request', 'The path is not valid percent-encoded UTF-8.', { cause: error });
  }
  if (decoded.includes('\0')) throw refusal('The path must not contain %00');
  return decoded;
}

function refusal(message: string): AppError {
  return new AppError('bad_request', message);
}

function unreadable(): AppError {
  return refusal('Failed to read the submitted batch data.');
}

function invalid(problem: FieldErrors[string]): AppError {
  return new AppError('bad_request', 'Invalid batch request data.', { details: { requests: problem } });
}

interface LimitedRequest extends CountedRequest {
  readonly services: { readonly admission: Admission };
}

/** Counts each item of a batch as if it had come alone. An item over its limit is replaced by a refusal, which fails in its turn. */
export async function limitBatch(
  counted: LimitedRequest,
  entries: readonly BatchEntry[],
): Promise<readonly BatchEntry[]> {
  if (!counted.instance.settings.current.rateLimits.enabled) return entries;
  // Starts every count before it awaits any: they keep their order, and share one query where nodes count together.
  return Promise.all(entries.map((entry) => limitEntry(counted, entry)));
}

async function limitEntry(counted: LimitedRequest, entry: BatchEntry): Promise<BatchEntry> {
  const { item, input } = entry;
  if (item.kind === 'refused') return entry;
  const { collection } = item;
  const [paths, params] =
    'id' in item
      ? [recordPaths.ofRecord, { collection, id: item.id }]
      : [recordPaths.ofCollection, { collection }];
  // Whether an upsert creates or updates is known only later, so a rule for either applies to it.
  const actions = item.kind === 'upsert' ? ['create', 'update'] : [item.kind];
  const { collections } = counted.instance;
  const labels = rateLimitLabels({ paths, actions }, { method: input.method, params }, collections);
  const quota = await counted.services.admission.count(counted, labels);
  if (quota?.isExceeded !== true) return entry;
  return { input, item: { kind: 'refused', error: tooManyRequests(quota.resetSeconds) } };
}

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
  assert(entry !== undefined, 'every result belongs to an entry');
  if (result.kind === 'deleted') return { status: 204 };
  const status = result.kind === 'created' ? 201 : 200;
  return recordAnswer({ instance, reader, input: entry.input }, result.record, status);
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

/**
 * An item's body is the fourth level of a batch: inside the body of the batch, its list of requests, and the item. A thousand items
 * may have a hundred members each.
 */
export const batchJsonLimits: JsonLimits = { ...jsonLimits, uniqueDepth: 4, uniqueMembersMax: 100_000 };
