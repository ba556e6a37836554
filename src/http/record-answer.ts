import { AppError } from '../base/errors.ts';
import { textDigest } from '../base/text.ts';
import type { QueryReader } from '../query/list-query.ts';
import type { ExpandContext } from '../records/expand.ts';
import { presentRecords } from '../records/present-records.ts';
import type { RecordText } from '../records/read-record.ts';
import type { ExpectedRevision } from '../records/record-write.ts';
import { recordIdsJson, type StoredRecord } from '../records/record.ts';
import type { WriteAnswer } from './request-context.ts';
import { projected, projectedInTurns } from './answer.ts';

interface RecordAnswer extends WriteAnswer {
  readonly json: string;
  readonly headers: { readonly etag: string };
}

/** A record as its caller may see it, with its ETag. */
export async function recordAnswer(
  context: ExpandContext,
  record: StoredRecord,
  status: 200 | 201,
): Promise<RecordAnswer> {
  const [text = ''] = await presentRecords(context, [record]);
  const json = projected(context.input.query, text);
  const headers = { etag: entityTag(record.revision, textDigest(json)) };
  return { status, json, headers, idsJson: () => recordIdsJson(record) };
}

/** A record that was read as text, with the same ETag as in the answer to its last write. */
export async function textAnswer(
  query: QueryReader,
  record: RecordText,
): Promise<Omit<RecordAnswer, 'idsJson'>> {
  const json = await projectedInTurns(query, record.json);
  const etag = entityTag(record.revision, textDigest(json));
  return { status: 200, json, headers: { etag } };
}

/**
 * Returns `"<revision>-<digest of the answer>"`: a strong tag (RFC 9110 section 8.8.3) of the record as this caller sees it.
 * Every change has its own revision, so the digest only has to distinguish the few answers that share one: with other `fields`,
 * under another definition, or of an id that was used again. A tag protects nothing, so it need not be hard to forge.
 */
function entityTag(revision: number, digest: string): string {
  return `"${revision}-${digest}"`;
}

/**
 * Returns what `If-Match` requires of the record to be changed. Only revisions are compared: the tag may come from an answer with
 * other `fields`. Weak tags match nothing (RFC 9110 section 13.1.1), and neither do tags of any other form.
 */
export function expectedRevision(header: string | undefined): ExpectedRevision | undefined {
  if (header === undefined) return undefined;
  const tags = parseTags(header);
  // Ignoring a malformed header would let through the very change that it was to stop.
  if (tags === undefined) throw new AppError('bad_request', 'Expected If-Match to be "*" or entity tags.');
  if (tags === '*') return 'any';
  const revisions = tags.filter((tag) => !tag.isWeak).map((tag) => /^([1-9]\d{0,15})-/.exec(tag.text)?.[1]);
  return revisions.flatMap((revision) => (revision === undefined ? [] : [Number(revision)]));
}

/** True when `If-None-Match` names the tag of the answer. A malformed header counts as absent: the answer is then sent. */
export function isAlreadyKnown(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const tags = parseTags(header);
  return tags === '*' || (tags !== undefined && tags.some(({ text }) => `"${text}"` === tag));
}

interface EntityTag {
  readonly isWeak: boolean;
  /** Without its quotes. */
  readonly text: string;
}

/** One tag of a list, with the commas and blanks before it: empty elements are allowed (RFC 9110 section 5.6.1). */
const TAG = /[ \t]*(?:,[ \t]*)*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?=,|$)/y;
const REST = /^[ \t,]*$/;

/** Returns undefined for a header that is no list of entity tags. */
function parseTags(header: string): '*' | readonly EntityTag[] | undefined {
  if (header.trim() === '*') return '*';
  const tags: EntityTag[] = [];
  let at = 0;
  for (;;) {
    TAG.lastIndex = at;
    const match = TAG.exec(header);
    if (match === null) break;
    tags.push({ isWeak: match[1] !== undefined, text: match[2] ?? '' });
    at = TAG.lastIndex;
  }
  return tags.length > 0 && REST.test(header.slice(at)) ? tags : undefined;
}
