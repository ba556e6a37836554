import { attached, GenerationCache } from '../base/cache.ts';
import type { Collection } from '../collections/collection.ts';
import { tableOf } from '../collections/views.ts';
import { chosenTexts } from '../fields/chosen-texts.ts';
import type { FieldType, StoredValue } from '../fields/field-type.ts';
import { fieldType } from '../fields/field-types.ts';
import { type Field, fieldColumn, hasColumn, mayWriteField } from '../fields/field.ts';
import type { RelationOptions } from '../fields/relation-field.ts';
import { baseAlias } from '../query/record-scope.ts';
import type { RowKind } from '../query/row-cache.ts';
import {
  changeByKey,
  insertInto,
  joinSql,
  literal,
  lookupByKey,
  lookupToChange,
  type Sql,
  sql,
  withValues,
} from '../sql/sql.ts';
import type { JsonWriter, Names } from '../storage/database.ts';

/**
 * The plan for a collection's records and their table. Created once per definition, because every request uses it, and dropped with it: a
 * changed collection is a new object.
 */
export class RecordTable {
  static #lastId = 0;
  /** Stands in keys for the definition. */
  readonly id = (RecordTable.#lastId += 1);
  readonly collection: Collection;
  readonly fields: readonly FieldPlan[];
  readonly hasHidden: boolean;
  /** The password fields. Their values are no part of a record: only hashes are stored, apart from it. */
  readonly passwords: readonly Field[];
  /** Whether any field is stored apart from the record. */
  readonly hasSecrets: boolean;
  /** The e-mail address of an auth collection, where each account decides whether it is shown. */
  readonly email: EmailIndexes | undefined;
  /** The beginning of every record's JSON, up to and with the comma before its fields. */
  readonly head: string;
  readonly relations: readonly RelationField[];
  /** The file fields, with their indexes among the collection's fields. */
  readonly files: readonly FileField[];
  /** For an auth collection: by rule, how the relations of a caller that the rule names are looked up, if it names any. */
  readonly callerLookups = new GenerationCache<string, { readonly lookup: CallerLookup | undefined }>(
    rulesMax,
  );
  #statements: RecordStatements | undefined;
  #openJson: RecordJson | undefined;
  #wholeJson: RecordJson | undefined;

  constructor(collection: Collection) {
    this.collection = collection;
    this.fields = collection.fields.map(planField);
    this.hasHidden = this.fields.some((field) => field.isHidden && !field.isSecret);
    this.email = collection.type === 'auth' ? emailOf(collection) : undefined;
    this.passwords = collection.fields.filter(({ type }) => type === 'password');
    this.hasSecrets = this.fields.some(({ isSecret }) => isSecret);
    const ids = JSON.stringify({ collectionId: collection.id, collectionName: collection.name });
    this.head = `${ids.slice(0, -1)},`;
    this.relations = relationsOf(collection);
    this.files = filesOf(collection);
  }

  /** A definition belongs to one instance, and so to one set of names. */
  statements(names: Names): RecordStatements {
    return (this.#statements ??= makeStatements(this.collection, names));
  }

  /**
   * Returns how an engine writes the records as JSON: for superusers `withHidden` fields. Undefined for auth collections, where each
   * account decides whether its address is shown, and for views, whose rows have no revisions.
   */
  json(names: Names, { withHidden }: { readonly withHidden: boolean }): RecordJson | undefined {
    if (this.collection.type !== 'base') return undefined;
    if (withHidden) return (this.#wholeJson ??= makeJson(this, names, withHidden));
    return (this.#openJson ??= makeJson(this, names, withHidden));
  }
}

const tableKey = Symbol('record table');

/** Returns the record table of a definition, which keeps it. */
export function recordTable(collection: Collection): RecordTable {
  return attached(collection, tableKey, () => new RecordTable(collection));
}

/** Lookups kept per definition of an auth collection: one for each rule that names relations of its accounts. */
const rulesMax = 100;

export interface CallerLookup {
  readonly fields: readonly string[];
  /** Selects the fields. Values: the caller's id. */
  readonly select: Sql;
}

export interface FieldPlan {
  readonly field: Field;
  readonly type: FieldType;
  readonly name: string;
  readonly isHidden: boolean;
  /** Whether the value is stored apart from the record and shown to nobody. */
  readonly isSecret: boolean;
  /** Whether others than superusers may write it. */
  readonly isOpen: boolean;
  /** Whether it is the `id`. */
  readonly isId: boolean;
  /** Whether it is an `id` with the standard pattern, so that the service generates the ids of new records. */
  readonly isStandardId: boolean;
  /** `,"name":`; `firstKey` is the same without the comma. */
  readonly key: string;
  readonly firstKey: string;
  readonly toJson: (value: StoredValue) => string;
}

/** Indexes into the values of a record. */
export interface EmailIndexes {
  readonly at: number;
  readonly visibilityAt: number;
}

function emailOf({ fields }: Collection): EmailIndexes {
  const at = fields.findIndex(({ name }) => name === 'email');
  return { at, visibilityAt: fields.findIndex(({ name }) => name === 'emailVisibility') };
}

function planField(field: Field): FieldPlan {
  const type = fieldType(field);
  return {
    field,
    type,
    name: field.name,
    isHidden: field.hidden,
    isSecret: !hasColumn(field),
    isOpen: mayWriteField(field, false),
    isId: field.name === 'id',
    isStandardId: field.name === 'id' && field.options['autogeneratePattern'] === '[a-z0-9]{15}',
    key: `,${JSON.stringify(field.name)}:`,
    firstKey: `${JSON.stringify(field.name)}:`,
    toJson: (value) => type.toJson(value, field.options),
  };
}

/** The statements on a collection's table, made once per definition. `withValues` binds their values. */
export interface RecordStatements {
  readonly table: Sql;
  /** The revision, then every field; NULL for fields that have no column. */
  readonly columns: Sql;
  /** Values: the id. */
  readonly selectById: Sql;
  /** As `selectById`, and locks the row for a change. */
  readonly selectToChange: Sql;
  /** Inserts the values of every field, with revision 1. */
  readonly insert: (values: readonly StoredValue[]) => Sql;
  /** Updates the fields at these indexes. Values: the revision, those of the fields, the id. */
  readonly update: (indexes: readonly number[]) => Sql;
  /** Values: the id. */
  readonly deleteById: Sql;
  readonly joined: JoinedTable;
}

/** The parts of a SELECT that may join a collection's table with others. */
interface JoinedTable {
  /** The table under `baseAlias`, by which a RecordScope knows it. */
  readonly from: Sql;
  /** As `columns`. */
  readonly columns: Sql;
}

/** Update statements kept per definition. Clients change the same few sets of fields again and again. */
const updatesMax = 32;

function makeStatements(collection: Collection, names: Names): RecordStatements {
  const table = tableOf(collection, names);
  const stored = collection.fields.filter(hasColumn);
  const isStored = stored.length === collection.fields.length ? undefined : collection.fields.map(hasColumn);
  const fields = joinSql(
    stored.map((field) => names.column(field.name)),
    ', ',
  );
  const placeholders = joinSql(
    stored.map((field) => placeholderOf(field, names)),
    ', ',
  );
  const insert = insertInto(table, sql`"$revision", ${fields}`, sql`1, ${placeholders}`);
  const columns = columnsOf(collection, names, sql``);
  const selectById = sql`SELECT ${columns} FROM ${table} WHERE id = ${null}`;
  return {
    table,
    columns,
    selectById: collection.type === 'view' ? selectById : lookupByKey(selectById),
    selectToChange: lookupToChange(sql`${selectById}${names.locks.forUpdate}`),
    insert: (values) =>
      withValues(insert, isStored === undefined ? values : values.filter((_, index) => isStored[index])),
    update: updatesOf(collection, names, table),
    deleteById: sql`DELETE FROM ${table} WHERE id = ${null}`,
    joined: {
      from: sql`${table} AS ${baseAlias}`,
      columns: columnsOf(collection, names, sql`${baseAlias}.`),
    },
  };
}

/** `before` is what stands before the name of a column. */
function columnsOf({ fields }: Collection, names: Names, before: Sql): Sql {
  const columns = fields.map((field) =>
    hasColumn(field) ? sql`${before}${names.column(field.name)}` : sql`NULL`,
  );
  return joinSql([sql`${before}"$revision"`, ...columns], ', ');
}

function updatesOf(collection: Collection, names: Names, table: Sql): RecordStatements['update'] {
  const updates = new GenerationCache<string, Sql>(updatesMax);
  const toUpdate = (indexes: readonly number[]): Sql => {
    const columns = collection.fields
      .filter((_, index) => indexes.includes(index))
      .map((field) => [names.column(field.name), placeholderOf(field, names)] as const);
    return changeByKey(table, [[sql`"$revision"`, sql`${null}`], ...columns], sql`id`);
  };
  return (indexes) => updates.findOrAdd(indexes.join(), () => toUpdate(indexes));
}

function placeholderOf(field: Field, { dialect }: Names): Sql {
  return dialect.placeholder(fieldColumn(field) ?? 'text');
}

/** A way in which an engine writes the records of one definition as JSON. */
export interface RecordJson {
  /** A column that holds the JSON of a record as the API shows it: the same text as `recordToJson` makes. */
  readonly column: Sql;
  /** Selects the revision and the JSON of one record. Values: the id. `AND` conditions may follow. */
  readonly selectById: Sql;
  readonly rows: RowKind;
}

function makeJson(table: RecordTable, names: Names, withHidden: boolean): RecordJson {
  const column = textOf(table, names.json, { names, withHidden });
  const { joined } = table.statements(names);
  const select = sql`SELECT ${baseAlias}."$revision", ${column} AS "$json" FROM ${joined.from} WHERE ${baseAlias}.id = ${null}`;
  return { column, selectById: lookupByKey(select), rows: { isFilled: false } };
}

function textOf(
  table: RecordTable,
  json: JsonWriter,
  { names, withHidden }: { readonly names: Names; readonly withHidden: boolean },
): Sql {
  const parts: Sql[] = [];
  let before = table.head;
  for (const { field, key, firstKey, isHidden, toJson } of table.fields) {
    const kind = fieldColumn(field);
    if (kind === undefined || (isHidden && !withHidden)) continue;
    const column = sql`${baseAlias}.${names.column(field.name)}`;
    const quote = fieldType(field).isPlain === true ? '"' : '';
    parts.push(literal(before + (parts.length === 0 ? firstKey : key) + quote));
    parts.push(quote === '' ? json.value(kind, column, toJson(null)) : column);
    before = quote;
  }
  return json.concat([...parts, literal(`${before}}`)]);
}

/** A field that refers to records, with its index among the collection's fields. */
export interface RelationField {
  readonly index: number;
  readonly field: Field;
  readonly options: RelationOptions;
}

function relationsOf({ fields }: Collection): readonly RelationField[] {
  return fields.flatMap((field, index) => {
    if (field.type !== 'relation') return [];
    // A field's options were made by its type.
    return [{ index, field, options: field.options as RelationOptions }];
  });
}

/** A file field, with its index among the collection's fields. */
export interface FileField {
  readonly index: number;
  readonly field: Field;
}

function filesOf({ fields }: Collection): readonly FileField[] {
  return fields.flatMap((field, index) => (field.type === 'file' ? [{ index, field }] : []));
}

/** Returns the ids in a stored value, which was checked before it was stored. */
export function relatedIds({ options }: RelationField, stored: StoredValue): readonly string[] {
  return chosenTexts.read(stored, options) ?? [];
}

/** The columns that identify the state of a record: no two records have the same position, and no two states of one the same revision. */
export const rowVersion = sql`${baseAlias}."$position", ${baseAlias}."$revision"`;

const requestedId = sql`"$id"`;

/** Returns a subquery with one row per id. Its text is the same for any number of ids, so that it is prepared once. */
export function eachOf({ dialect }: Names, ids: readonly string[]): Sql {
  return sql`SELECT ${dialect.valueOfEach(requestedId).sql} FROM ${dialect.each(sql`${JSON.stringify(ids)}`, requestedId)}`;
}
