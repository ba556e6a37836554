import { fieldType } from '../fields/field-types.ts';
import { type Field, fieldColumn } from '../fields/field.ts';
import { readSelect } from '../sql/select-text.ts';
import { identifier, joinSql, literal, sql, type Sql, viewSelect } from '../sql/sql.ts';
import type { Names, Transaction } from '../storage/database.ts';
import type { Collection } from './collection.ts';
import { isClone } from './infer-view.ts';

/** Returns the table of a collection, or its view: a search has to know which. */
export function tableOf({ type, name }: Collection, names: Names): Sql {
  return type === 'view' ? names.views.table(name) : names.collectionTable(name);
}

/** Drops views. Tables are altered without any: engines check those that read a table, or refuse. */
export async function dropViews(tx: Transaction, views: readonly Collection[]): Promise<void> {
  for (const { name } of views) await tx.run(tx.names.views.drop(name));
}

/** Makes views, each after those that it reads. */
export async function createViews(tx: Transaction, views: readonly Collection[]): Promise<void> {
  const { names } = tx;
  for (const view of inOrder(views)) await names.views.create(tx, view.name, selectOfView(view, names));
}

/** Returns views in an order in which each comes after those that it reads. */
export function inOrder(views: readonly Collection[]): readonly Collection[] {
  const byId = new Map(views.map((view) => [view.id, view]));
  const ordered = new Set<Collection>();
  const visit = (view: Collection): void => {
    if (!byId.delete(view.id)) return;
    for (const id of view.view?.reads ?? []) {
      const other = byId.get(id);
      if (other !== undefined) visit(other);
    }
    ordered.add(view);
  };
  for (const view of views) visit(view);
  return [...ordered];
}

/** Whether what others read of a collection has changed: its name, its columns, its query. */
export function isShapeSame(before: Collection, after: Collection): boolean {
  const shape = ({ name, fields, view }: Collection): string =>
    JSON.stringify([
      name,
      view?.query,
      fields.map((field) => [field.id, field.name, field.type, fieldColumn(field)]),
    ]);
  return shape(before) === shape(after);
}

/** Returns the SELECT of a view. Its columns are those of its fields, in their stored form, and those that every table begins with. */
export function selectOfView(collection: Collection, names: Names): Sql {
  const { fields, view } = collection;
  const text = readSelect(view?.query ?? '');
  const columns = fields.map(
    (field) => sql`${columnOf(field, collection, names)} AS ${names.column(field.name)}`,
  );
  const query = viewSelect(typeof text === 'string' ? '' : text.text);
  return sql`SELECT 0 AS "$position", 1 AS "$revision", ${joinSql(columns, ', ')} FROM (${query}) AS ${identifier('$query')}`;
}

function columnOf(field: Field, { view }: Collection, names: Names): Sql {
  const column = sql`${identifier('$query')}.${identifier(field.name)}`;
  const kind = fieldColumn(field) ?? 'text';
  // As it is, so that an engine finds a row by it.
  if (field.name === 'id' && view?.hasPlainId === true) return column;
  if (field.type === 'json') return isClone(field) ? column : names.views.value(column, 'any', literal(''));
  const zero = fieldType(field).zero(field.options);
  return names.views.value(column, kind, literal(typeof zero === 'number' ? zero : String(zero)));
}
