import { expandRecords, type ExpandContext, type ExpandedRecord } from './expand.ts';
import { parseExpand } from './parse-expand.ts';
import { recordToJson, type StoredRecord } from './record.ts';

/** The JSON of records of one collection as the caller may see them, with what `expand` of the query asks for. */
export async function presentRecords(
  context: ExpandContext,
  records: readonly StoredRecord[],
): Promise<readonly string[]> {
  const { facts } = context;
  const expand = facts.query.get('expand');
  const isSuperuser = facts.caller.kind === 'superuser';
  if (expand === null || expand === '') return records.map((record) => recordToJson(record, isSuperuser));
  const expanded = await expandRecords(context, records, parseExpand(expand));
  return expanded.map((record) => expandedToJson(record, isSuperuser));
}

function expandedToJson({ record, expand }: ExpandedRecord, isSuperuser: boolean): string {
  const json = recordToJson(record, isSuperuser);
  if (expand === undefined) return json;
  const members = [...expand].map(([name, related]) => {
    const value = isList(related)
      ? `[${related.map((one) => expandedToJson(one, isSuperuser)).join(',')}]`
      : expandedToJson(related, isSuperuser);
    return `${JSON.stringify(name)}:${value}`;
  });
  return `${json.slice(0, -1)},"expand":{${members.join(',')}}}`;
}

/** Array.isArray does not know readonly arrays. */
function isList(related: ExpandedRecord | readonly ExpandedRecord[]): related is readonly ExpandedRecord[] {
  return Array.isArray(related);
}
