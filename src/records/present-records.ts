import { unlessBroken } from '../access/rule.ts';
import { Pauses } from '../base/pieces.ts';
import type { Collection } from '../collections/collection.ts';
import { baseAlias } from '../query/record-scope.ts';
import { type BoundRule, conditionOf } from '../query/rule-plan.ts';
import { sql } from '../sql/sql.ts';
import { answerBytesMax, answerTooLarge, type Reader } from '../storage/database.ts';
import { boundRule } from './check-rule.ts';
import { type ExpandContext, type ExpandedRecord, expandRecords, parseExpand } from './expand.ts';
import { recordTable } from './record-table.ts';
import { recordToJson, type Visibility, type StoredRecord, valueOf } from './record.ts';

/**
 * How many related records an answer may show. A record counts once for each record that leads to it: a few that refer to each
 * other can make any number of them in six levels.
 */
const relatedMax = 50_000;
/** Characters of all related records in an answer. */
const expandedLengthMax = 64 * 1024 * 1024;

type JsonOf = (record: StoredRecord) => string;

/**
 * Returns the JSON of records of one collection as the caller may see them, with the relations of the query's `expand`. Throws
 * bad_request when that would be too much for one answer.
 */
export async function presentRecords(
  context: ExpandContext,
  records: readonly StoredRecord[],
): Promise<readonly string[]> {
  const expand = context.input.query.get('expand');
  if (expand === null || expand === '') {
    const visibility = await readVisibility(context, records);
    return requireAnswerLength(
      await textsOf(context, records, (record) => recordToJson(record, visibility(record))),
    );
  }
  const expanded = await expandRecords(context, records, parseExpand(expand));
  const visibility = await readVisibility(context, [...distinctRecords(expanded)]);
  const texts = new Map<StoredRecord, string>();
  const jsonOf: JsonOf = (record) => {
    const json = texts.get(record) ?? recordToJson(record, visibility(record));
    texts.set(record, json);
    return json;
  };
  requireAnswerSize(expanded, jsonOf);
  return requireAnswerLength(await textsOf(context, expanded, (record) => expandedToJson(record, jsonOf)));
}

/** Makes texts of records, with other work in between where they are long, but never inside a transaction. */
async function textsOf<Item>(
  { reader }: ExpandContext,
  items: readonly Item[],
  toJson: (item: Item) => string,
): Promise<readonly string[]> {
  const pauses = new Pauses();
  const texts: string[] = [];
  for (const item of items) {
    const text = toJson(item);
    texts.push(text);
    const pause = reader === undefined ? pauses.after(text.length) : undefined;
    if (pause !== undefined) await pause;
  }
  return texts;
}

function requireAnswerLength(texts: readonly string[]): readonly string[] {
  let length = 0;
  for (const text of texts) length += text.length;
  if (length > answerBytesMax) throw answerTooLarge();
  return texts;
}

/** Returns each record once: one that several lead to is a single object. */
function distinctRecords(expanded: readonly ExpandedRecord[]): ReadonlySet<StoredRecord> {
  const visited = new Set<ExpandedRecord>();
  const look = (one: ExpandedRecord): void => {
    if (visited.has(one)) return;
    visited.add(one);
    for (const related of one.expand?.values() ?? []) [related].flat().forEach(look);
  };
  expanded.forEach(look);
  return new Set([...visited].map(({ record }) => record));
}

interface Size {
  readonly count: number;
  readonly length: number;
}

/**
 * Throws bad_request when the expanded records are too much for one answer, before any of it is written. Each record is measured
 * once, however often it appears.
 */
function requireAnswerSize(expanded: readonly ExpandedRecord[], jsonOf: JsonOf): void {
  const sizeCache = new Map<ExpandedRecord, Size>();
  const sizeOfRelated = ({ expand }: ExpandedRecord): Size => {
    const sizes = [...(expand?.values() ?? [])].flatMap((related) => [related].flat().map(sizeOf));
    return sum(sizes);
  };
  const sizeOf = (one: ExpandedRecord): Size => {
    const size =
      sizeCache.get(one) ?? sum([{ count: 1, length: jsonOf(one.record).length }, sizeOfRelated(one)]);
    sizeCache.set(one, size);
    return size;
  };
  const { count, length } = sum(expanded.map(sizeOfRelated));
  if (count > relatedMax || length > expandedLengthMax) throw answerTooLarge();
}

function sum(sizes: readonly Size[]): Size {
  let count = 0;
  let length = 0;
  for (const size of sizes) {
    count += size.count;
    length += size.length;
  }
  return { count, length };
}

function expandedToJson({ record, expand }: ExpandedRecord, jsonOf: JsonOf): string {
  const json = jsonOf(record);
  if (expand === undefined) return json;
  const members = [...expand].map(([name, related]) => {
    const value = isList(related)
      ? `[${related.map((one) => expandedToJson(one, jsonOf)).join(',')}]`
      : expandedToJson(related, jsonOf);
    return `${JSON.stringify(name)}:${value}`;
  });
  return `${json.slice(0, -1)},"expand":{${members.join(',')}}}`;
}

/** Array.isArray does not know readonly arrays. */
function isList(related: ExpandedRecord | readonly ExpandedRecord[]): related is readonly ExpandedRecord[] {
  return Array.isArray(related);
}

export type VisibilityOf = (record: StoredRecord) => Visibility;

/** Returns how much of each record the caller sees. Runs one statement for each collection that has a manage rule. */
async function readVisibility(
  { instance, input, reader = instance.database }: ExpandContext,
  records: readonly StoredRecord[],
): Promise<VisibilityOf> {
  const { caller } = input;
  if (caller.kind === 'superuser') return () => 'everything';
  if (caller.kind === 'guest') return () => 'public';
  const ids = new Map<Collection, string[]>();
  for (const record of records) {
    const { collection } = record;
    if ((collection.auth?.manageRule ?? null) === null) continue;
    const idsOfCollection = ids.get(collection) ?? [];
    idsOfCollection.push(idOf(record));
    ids.set(collection, idsOfCollection);
  }
  const managed = new Map<Collection, ReadonlySet<string>>();
  for (const [collection, ofCollection] of ids) {
    const manageRule = collection.auth?.manageRule;
    if (!manageRule) continue;
    const find = async (): Promise<ReadonlySet<string>> =>
      findManaged(reader, boundRule({ instance, input }, collection, manageRule), ofCollection);
    managed.set(collection, await unlessBroken(instance, new Set(), find));
  }
  return (record) => {
    const { collection } = record;
    const isOwn = collection.id === caller.collectionId && idOf(record) === caller.id;
    return isOwn || managed.get(collection)?.has(idOf(record)) === true ? 'account' : 'public';
  };
}

function idOf(record: StoredRecord): string {
  return String(valueOf(record, 'id'));
}

/** Returns which of these accounts the caller may manage. */
async function findManaged(
  reader: Reader,
  rule: BoundRule,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { collection, constant } = rule.plan;
  if (constant !== undefined) return new Set(constant ? ids : []);
  const { from } = recordTable(collection).statements(reader.names).joined;
  const condition = conditionOf(rule);
  const managed = sql`
    SELECT ${baseAlias}.id FROM ${from}
    WHERE ${baseAlias}.id${reader.names.anyOf([...new Set(ids)])} AND ${condition}`;
  const rows = await reader.search(managed);
  return new Set(rows.map(([id]) => String(id)));
}
