import { textDigest } from '../base/text-digest.ts';
import type { ExpandContext } from '../records/expand.ts';
import { presentRecords } from '../records/present-records.ts';
import { recordIdsJson, type StoredRecord } from '../records/record.ts';
import { projected } from './answer.ts';
import type { WriteAnswer } from './answer-write.ts';
import { entityTag } from './entity-tag.ts';

export interface RecordAnswer extends WriteAnswer {
  readonly json: string;
  readonly headers: { readonly etag: string };
}

/** A record as its caller may see it, with its ETag. */
export async function recordAnswer(
  context: ExpandContext,
  record: StoredRecord,
  status: 200 | 201,
): Promise<RecordAnswer> {
  const [shown = ''] = await presentRecords(context, [record]);
  const json = projected(context.facts.query, shown);
  const headers = { etag: entityTag(record.revision, textDigest(json)) };
  return { status, json, headers, idsJson: () => recordIdsJson(record) };
}
