import { AppError, type FieldError } from '../base/errors.ts';
import { isJsonObject, ownMember, type JsonObject } from '../base/json.ts';
import { fieldError } from '../fields/field-error.ts';
import type { BatchItem } from '../records/batch-item.ts';
import type { BatchEntry } from '../records/batch.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { checkFields } from './answer.ts';
import { expectedRevision } from './entity-tag.ts';
import { httpLimits } from './http-limits.ts';
import { toHeaderName } from './request-facts.ts';

/** Reads the requests of `POST /api/batch`. Throws bad_request when their form is wrong; an invalid request becomes a refused item. */
export function readBatchRequests(
  body: JsonObject,
  facts: RequestFacts,
  requestsMax: number,
): readonly BatchEntry[] {
  const requests = ownMember(body, 'requests') ?? [];
  if (!Array.isArray(requests)) throw unreadable();
  if (requests.length === 0) throw invalid(fieldError('validation_required'));
  if (requests.length > requestsMax)
    throw invalid(fieldError('validation_length_too_long', { min: 0, max: requestsMax }));
  return requests.map((raw) => readEntry(raw, facts));
}

function readEntry(raw: unknown, ofBatch: RequestFacts): BatchEntry {
  if (!isJsonObject(raw)) throw unreadable();
  const method = ownMember(raw, 'method');
  const url = ownMember(raw, 'url');
  if (typeof method !== 'string' || typeof url !== 'string') throw unreadable();
  const headers = readHeaders(ownMember(raw, 'headers') ?? {});
  const isLong = lengthOf(url, headers) > httpLimits.headerBytesMax;
  const query = isLong ? new URLSearchParams() : queryOf(url);
  const body = ownMember(raw, 'body') ?? {};
  const isObject = isJsonObject(body);
  const facts: RequestFacts = {
    caller: ofBatch.caller,
    context: 'batch',
    method,
    query,
    headers: { get: (name) => headers.get(toHeaderName(name)) ?? ofBatch.headers.get(name) },
    body: isObject ? body : {},
    ...(ofBatch.origin && { origin: ofBatch.origin }),
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
      facts,
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { item: { kind: 'refused', error }, facts };
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

function invalid(problem: FieldError): AppError {
  return new AppError('bad_request', 'Invalid batch request data.', { details: { requests: problem } });
}
