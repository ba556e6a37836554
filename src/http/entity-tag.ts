import { AppError } from '../base/errors.ts';
import type { ExpectedRevision } from '../records/expected-revision.ts';

/**
 * `"<revision>-<digest of the answer>"`: strong (RFC 9110 section 8.8.3), of what this caller is shown and in this form.
 * Changes tell themselves apart by their revision; the digest has to tell only the few that have the same: another
 * form, another definition, or an id that was given again. Nobody is kept out by a tag, so none has to be hard to forge.
 */
export function entityTag(revision: number, digest: string): string {
  return `"${revision}-${digest}"`;
}

/**
 * What `If-Match` asks of the record that is to be changed. Only revisions are compared: the tag may come from an answer with
 * other `fields`. Weak tags match nothing (RFC 9110 section 13.1.1), and neither does a tag that is none of ours.
 */
export function expectedRevision(header: string | undefined): ExpectedRevision | undefined {
  if (header === undefined) return undefined;
  const tags = parseTags(header);
  // Ignored, it would let through the very change that it was to stop.
  if (tags === undefined) throw new AppError('bad_request', 'Expected If-Match to be "*" or entity tags.');
  if (tags === '*') return 'any';
  const revisions = tags.filter((tag) => !tag.isWeak).map((tag) => /^([1-9]\d{0,15})-/.exec(tag.text)?.[1]);
  return revisions.flatMap((revision) => (revision === undefined ? [] : [Number(revision)]));
}

/** Whether `If-None-Match` names what would be answered. One that is malformed is as good as none: the answer is then sent. */
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

/** A tag of a list, with what may stand before it: empty elements are allowed (RFC 9110 section 5.6.1). */
const TAG = /[ \t]*(?:,[ \t]*)*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?=,|$)/y;
const REST = /^[ \t,]*$/;

/** Undefined when it is no list of entity tags. */
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
