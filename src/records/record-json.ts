import type { Collection } from '../collections/collection.ts';
import { baseAlias } from '../collections/record-scope.ts';
import { fieldType } from '../fields/field-types.ts';
import { fieldColumn } from '../fields/field.ts';
import { literal, sql, type Sql } from '../sql/sql.ts';
import type { JsonWriter, Names } from '../storage/database.ts';
import { recordShape } from './record-shape.ts';

/** The SQL by definition and `withHidden`: what everyone sees, and what superusers see. */
const known = new WeakMap<Collection, Map<boolean, Sql>>();

/**
 * Returns a column that holds the JSON of a record as the API shows it: the same text as `recordToJson` makes. Undefined for auth
 * collections, where each account decides whether its address is shown.
 */
export function recordJson(
  collection: Collection,
  names: Names,
  options: { readonly withHidden: boolean },
): Sql | undefined {
  if (collection.type === 'auth') return undefined;
  const { withHidden } = options;
  const texts = known.get(collection) ?? new Map<boolean, Sql>();
  known.set(collection, texts);
  const found = texts.get(withHidden);
  if (found !== undefined) return found;
  const text = textOf(collection, names.json, { names, withHidden });
  texts.set(withHidden, text);
  return text;
}

function textOf(
  collection: Collection,
  json: JsonWriter,
  { names, withHidden }: { readonly names: Names; readonly withHidden: boolean },
): Sql {
  const shape = recordShape(collection);
  const parts: Sql[] = [];
  let before = shape.head;
  for (const { field, key, firstKey, isHidden, toJson } of shape.fields) {
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
