import type { RequestFacts } from '../rules/request-facts.ts';
import type { Instance } from '../instances/instance.ts';
import { expandRecords, type ExpandedRecord } from './expand.ts';
import { parseExpand } from './parse-expand.ts';
import { recordToJson, type StoredRecord } from './record.ts';

/** The JSON of records of one collection as the caller may see them, with what `expand` of the query asks for. */
export async function presentRecords(
  instance: Instance,
  facts: RequestFacts,
  records: readonly StoredRecord[],
): Promise<readonly string[]> {
  const expand = facts.query.get('expand');
  const isSuperuser = facts.caller.kind === 'superuser';
  if (expand === null || expand === '') return records.map((record) => recordToJson(record, isSuperuser));
  const expanded = await expandRecords({ instance, facts }, records, parseExpand(expand));
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
