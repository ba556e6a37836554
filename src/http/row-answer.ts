import { textDigest } from '../base/text-digest.ts';
import type { QueryReader } from '../lists/list-query.ts';
import type { RowText } from '../lists/row-text.ts';
import { projected } from './answer.ts';
import { entityTag } from './entity-tag.ts';
import type { RecordAnswer } from './record-answer.ts';

/** A record that was read as text, with the same ETag as in the answer to its last write. */
export function rowAnswer(query: QueryReader, row: RowText): Omit<RecordAnswer, 'idsJson'> {
  const json = projected(query, row.text);
  const digest = json === row.text ? row.digest : textDigest(json);
  const etag = entityTag(row.revision, digest);
  return { status: 200, json, headers: { etag } };
}
