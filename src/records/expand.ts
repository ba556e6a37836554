import { hasScope } from '../access/caller.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { unlessBroken } from '../access/rule.ts';
import type { Collection } from '../collections/collection.ts';
import type { Field } from '../fields/field.ts';
import { filterLimits } from '../filters/filter-error.ts';
import type { Instance } from '../instances/instance.ts';
import { findBackRelation, isMultiple } from '../query/path.ts';
import { baseAlias, reachableCollections } from '../query/record-scope.ts';
import { conditionOf } from '../query/rule-plan.ts';
import { joinSql, limit, sql, type Sql } from '../sql/sql.ts';
import { answerTooLarge, type Reader, type Tuple } from '../storage/database.ts';
import { boundRule } from './check-rule.ts';
import { eachOf, recordTable } from './record-table.ts';
import { fromTuple, type StoredRecord, valueOf } from './record.ts';

/** A record with the related records to show inside it. */
export interface ExpandedRecord {
  readonly record: StoredRecord;
  /** Related records by the name in the path; undefined where the request has no valid path. A list for relations that may have several. */
  readonly expand: ReadonlyMap<string, ExpandedRecord | readonly ExpandedRecord[]> | undefined;
}

export interface ExpandContext {
  readonly instance: Instance;
  readonly input: RuleInput;
  /** Where to read: inside a transaction this is `tx`, as nothing else may be awaited there. */
  readonly reader?: Reader;
}

/** How many related records one record shows for a back relation. */
const backRelationsMax = 1_000;
/** How many related records are read for one name, over all records. The rest is left out, like records that the caller may not see. */
const expandedMax = 20_000;

/** How many related records are read for all names together. */
const relatedMax = 50_000;

/**
 * Returns records of one collection with the related records that the view rules show to the caller. Runs one statement for each
 * name in the tree, however many records there are. What cannot be expanded is left out (http-api section 7). Throws bad_request
 * when it is too much for one answer.
 */
export function expandRecords(
  context: ExpandContext,
  records: readonly StoredRecord[],
  tree: ExpandTree,
): Promise<readonly ExpandedRecord[]> {
  const [first] = records;
  if (first === undefined) return Promise.resolve([]);
  return expandAll(
    { ...context, related: { count: 0, spentMs: 0 } },
    records,
    knownPaths(context, first.collection, tree),
  );
}

/**
 * Returns the paths of which every name is a relation that the caller may know of, to a collection that is not closed to it, as the reference
 * does. What is behind one that an API key does not reach is not looked at.
 */
function knownPaths(context: ExpandContext, collection: Collection, tree: ExpandTree): ExpandTree {
  const paths = new Map<string, ExpandTree>();
  for (const [name, subtree] of tree) {
    const relation = findRelation(context, collection, name);
    if (relation === undefined) {
      const field = collection.fields.find((candidate) => candidate.name === name);
      const isVisible = field?.hidden === false || context.input.caller.kind === 'superuser';
      if (field?.type === 'relation' && isVisible) paths.set(name, subtree);
      continue;
    }
    if (viewRuleFor(context.input, relation.target) === null) continue;
    const inner = knownPaths(context, relation.target, subtree);
    if (inner.size > 0 || subtree.size === 0) paths.set(name, inner);
  }
  return paths;
}

/** The rule by which the caller may see records of a collection; null where it is closed. */
function viewRuleFor({ caller }: RuleInput, { rules }: Collection): string | null {
  return caller.kind === 'superuser' ? '' : rules.viewRule;
}

interface Expansion extends ExpandContext {
  /** How many related records were read so far, and how long that took. */
  readonly related: { count: number; spentMs: number };
}

async function expandAll(
  context: Expansion,
  records: readonly StoredRecord[],
  tree: ExpandTree,
): Promise<readonly ExpandedRecord[]> {
  const collection = records[0]?.collection;
  if (collection === undefined) return [];
  const relations: ReadRelation[] = [];
  for (const [name, subtree] of tree) {
    const relation = findRelation(context, collection, name);
    if (relation !== undefined)
      relations.push({ name, relation, ...(await readRelated(context, records, { relation, subtree })) });
  }
  return records.map((record) => ({
    record,
    expand: relations.length === 0 ? undefined : new Map(relations.flatMap((one) => membersOf(one, record))),
  }));
}

interface Relation {
  readonly target: Collection;
  readonly isMultiple: boolean;
  /** The field that holds the ids. It belongs to the record itself or, for a back relation, to the records that refer to it. */
  readonly field: Field;
  readonly isBack: boolean;
}

interface ReadRelation {
  readonly name: string;
  readonly relation: Relation;
  /** Related records, each under its own id. For a back relation: under the id of the record that they refer to. */
  readonly related: ReadonlyMap<string, readonly ExpandedRecord[]>;
}

function findRelation(
  { instance, input, reader }: ExpandContext,
  collection: Collection,
  name: string,
): Relation | undefined {
  const { caller } = input;
  // An API key that may only write sees the record that it wrote, and no related ones.
  if (!hasScope(caller, 'records:read')) return undefined;
  const collections = reachableCollections(instance.collections, caller);
  const mayUseHidden = caller.kind === 'superuser';
  const field = collection.fields.find((candidate) => candidate.name === name);
  if (field !== undefined) {
    const target =
      field.type === 'relation' ? collections.find(String(field.options['collectionId'])) : undefined;
    if (target === undefined || (field.hidden && !mayUseHidden) || !isReadable(target, reader))
      return undefined;
    return { target, field, isMultiple: isMultiple(field), isBack: false };
  }
  const back = findBackRelation({ collections, mayUseHidden }, collection, name);
  if (back === undefined || !isReadable(back.target, reader)) return undefined;
  return { target: back.target, field: back.field, isMultiple: !back.isSole, isBack: true };
}

/** Whether its records can be read here: a transaction holds locks, and cannot wait for the query of a view. */
function isReadable({ type }: Collection, reader: Reader | undefined): boolean {
  return type !== 'view' || reader === undefined;
}

function membersOf(
  { name, relation, related }: ReadRelation,
  record: StoredRecord,
): readonly [string, ExpandedRecord | readonly ExpandedRecord[]][] {
  const ids = relation.isBack ? [String(valueOf(record, 'id'))] : idsOf(record, relation.field);
  const records = ids.flatMap((id) => related.get(id) ?? []);
  const [first] = records;
  if (first === undefined) return [];
  return [[name, relation.isMultiple ? records : first]];
}

async function readRelated(
  context: Expansion,
  records: readonly StoredRecord[],
  { relation, subtree }: { readonly relation: Relation; readonly subtree: ExpandTree },
): Promise<Pick<ReadRelation, 'related'>> {
  const ids = new Set(
    records.flatMap((record) =>
      relation.isBack ? [String(valueOf(record, 'id'))] : idsOf(record, relation.field),
    ),
  );
  const rows =
    ids.size === 0
      ? []
      : await unlessBroken(context.instance, [], () => selectRelated(context, relation, [...ids]));
  context.related.count += rows.length;
  if (context.related.count > relatedMax) throw answerTooLarge();
  // A record that several refer to is expanded once.
  const byId = new Map(rows.map(({ record }) => [String(valueOf(record, 'id')), record]));
  const expanded = await expandAll(context, [...byId.values()], subtree);
  const expandedById = new Map(expanded.map((one) => [String(valueOf(one.record, 'id')), one]));
  const related = new Map<string, ExpandedRecord[]>();
  for (const { key, record } of rows) {
    const one = expandedById.get(String(valueOf(record, 'id')));
    const list = related.get(key) ?? [];
    if (one === undefined || list.length === backRelationsMax) continue;
    list.push(one);
    related.set(key, list);
  }
  return { related };
}

/** Returns each related record with the id under which `ReadRelation.related` has it. */
async function selectRelated(
  { instance, input, reader = instance.database, related }: Expansion,
  relation: Relation,
  ids: readonly string[],
): Promise<readonly { readonly key: string; readonly record: StoredRecord }[]> {
  const { target, field, isBack } = relation;
  const { names } = reader;
  const viewRule = viewRuleFor(input, target);
  if (viewRule === null) return [];
  const rule = boundRule({ instance, input: { ...input, context: 'expand' } }, target, viewRule);
  if (rule.plan.constant === false) return [];
  const condition = rule.plan.constant === undefined ? conditionOf(rule) : undefined;
  const { columns, from } = recordTable(target).statements(names).joined;
  const dialect = names.dialect;
  const element: Sql = sql`"$element"`;
  const column = sql`${baseAlias}.${names.column(isBack ? field.name : 'id')}`;
  const isEach = isBack && isMultiple(field);
  const key = isEach ? dialect.valueOfEach(element).sql : column;
  const source = isEach ? sql`${from} JOIN ${dialect.each(column, element)} ON TRUE` : from;
  // No index covers the values inside a list. With `IS TRUE` the subquery stays a hash table, whichever plan the session has
  // cached; `= ANY` of an array that the plan does not know compares every row with each element.
  const hasKey = isEach ? sql`(${key} IN (${eachOf(names, ids)})) IS TRUE` : sql`${key}${names.anyOf(ids)}`;
  // Without an index on the field every row of the table is read.
  const conditions = [names.isInTime(sql`${baseAlias}."$position"`, 'for every row'), hasKey, condition];
  const where = joinSql(
    conditions.filter((condition) => condition !== undefined),
    ' AND ',
  );
  const statement = sql`SELECT ${key}, ${columns} FROM ${source} WHERE ${where} ORDER BY ${baseAlias}."$position"${limit(expandedMax)}`;
  // The names of a request share one query timeout.
  const startMs = instance.clock.monotonic();
  // No rule is evaluated for a superuser.
  const options = { spentMs: related.spentMs, isExempt: input.caller.kind === 'superuser' };
  const rows: readonly Tuple[] = await reader.search(statement, options);
  related.spentMs += instance.clock.monotonic() - startMs;
  return rows.map(([key, ...tuple]) => ({ key: String(key), record: fromTuple(target, tuple) }));
}

function idsOf(record: StoredRecord, field: Field): readonly string[] {
  const value = valueOf(record, field.name);
  if (typeof value !== 'string' || value === '') return [];
  // The field's type stores multiple values as a JSON array of texts.
  return isMultiple(field) ? (JSON.parse(value) as readonly string[]) : [value];
}

/** The relations to expand in a record, and those to expand in the records that they lead to. */
type ExpandTree = ReadonlyMap<string, ExpandTree>;

type MutableTree = Map<string, MutableTree>;

/** Longer texts are cut, as deeper paths are: what cannot be expanded is left out silently (http-api section 7). */
const textLengthMax = 4_096;
/** Each name costs a statement. Further names are left out in the same way. */
const namesMax = 64;

/** Parses `author,comments_via_post.author` into a tree. A path that begins another one adds nothing to it. */
export function parseExpand(text: string): ExpandTree {
  const root: MutableTree = new Map();
  let names = 0;
  for (const path of text.slice(0, textLengthMax).replaceAll(' ', '').split(',')) {
    let at = root;
    for (const step of path.split('.').slice(0, filterLimits.hopsMax)) {
      if (step === '') break;
      // The old form of a back relation: comments(post).
      const name = step.replace(/^(\w+)\((\w+)\)$/, '$1_via_$2');
      let next = at.get(name);
      if (next === undefined) {
        if (names === namesMax) break;
        names += 1;
        next = new Map();
        at.set(name, next);
      }
      at = next;
    }
  }
  return root;
}
