import { expandRecords, type ExpandContext, type ExpandedRecord } from './expand.ts';
import { parseExpand } from './parse-expand.ts';
import { recordToJson, type StoredRecord } from './record.ts';
import { sightsOf, type SightOf } from './sights-of.ts';

/** The JSON of records of one collection as the caller may see them, with what `expand` of the query asks for. */
export async function presentRecords(
  context: ExpandContext,
  records: readonly StoredRecord[],
): Promise<readonly string[]> {
  const expand = context.facts.query.get('expand');
  if (expand === null || expand === '') {
    const sightOf = await sightsOf(context, records);
    return records.map((record) => recordToJson(record, sightOf(record)));
  }
  const expanded = await expandRecords(context, records, parseExpand(expand));
  const sightOf = await sightsOf(context, expanded.flatMap(allOf));
  return expanded.map((record) => expandedToJson(record, sightOf));
}

function allOf({ record, expand }: ExpandedRecord): readonly StoredRecord[] {
  return [record, ...[...(expand?.values() ?? [])].flat().flatMap(allOf)];
}

function expandedToJson({ record, expand }: ExpandedRecord, sightOf: SightOf): string {
  const json = recordToJson(record, sightOf(record));
  if (expand === undefined) return json;
  const members = [...expand].map(([name, related]) => {
    const value = isList(related)
      ? `[${related.map((one) => expandedToJson(one, sightOf)).join(',')}]`
      : expandedToJson(related, sightOf);
    return `${JSON.stringify(name)}:${value}`;
  });
  return `${json.slice(0, -1)},"expand":{${members.join(',')}}}`;
}

/** Array.isArray does not know readonly arrays. */
function isList(related: ExpandedRecord | readonly ExpandedRecord[]): related is readonly ExpandedRecord[] {
  return Array.isArray(related);
}
