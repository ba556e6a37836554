import { decodeField, type Field, fieldColumn } from '../../src/fields/field.ts';
import type { StoredValue } from '../../src/fields/field-type.ts';
import {
  jsonPath,
  type Operand,
  type OperandKind,
  type Prefix,
  type Resolve,
} from '../../src/filters/operand.ts';
import { identifier, sql } from '../../src/sql/sql.ts';
import type { Engine } from '../../src/storage/database.ts';

/**
 * The map of this folder: does the same question get the same answer from both engines?
 *
 *   arbitraryWorld (a seed) ──► World ── compareWorld (an EnginePair) ──► Difference | undefined
 *
 * World         a table, its rows and the lists that are asked for; JSON, so that one that failed can be kept in corpus.json
 * RelatedWorld  records of several collections, and lists that follow their relations (related-world.ts)
 * CallWorld     values of functions (arbitrary-calls.ts)
 * EnginePair    node:sqlite and a real PostgreSQL, each with its dialect
 */
export interface World {
  readonly columns: Readonly<Record<string, Column>>;
  /** The stored values in the order of the columns; the id of a row is its number. */
  readonly rows: readonly (readonly StoredValue[])[];
  readonly questions: readonly Question[];
}

export interface Column {
  readonly kind: OperandKind | 'multiple';
  /** As the columns of a joined table are, and all columns of json. */
  readonly isNullable: boolean;
  /** A text whose index would hold all of it; others are asked for as an index over their beginnings needs it. */
  readonly isShort?: boolean;
}

/** The members of a list's query. */
export type Question = Readonly<
  Partial<Record<'filter' | 'sort' | 'page' | 'perPage' | 'skipTotal', string>>
>;

/** A field of some type, as the collections API would take it. */
export function toField(definition: Readonly<Record<string, unknown>>): Field {
  const field = decodeField(definition, {
    add: (name, error) => {
      throw new Error(`a field of the generator is refused: ${name} ${JSON.stringify(error)}`);
    },
  });
  if (field === undefined) throw new Error('a field of the generator is refused');
  return field;
}

export function columnKind(field: Field): Column['kind'] {
  if (field.type === 'json') return 'json';
  if (field.type === 'date' || field.type === 'autodate') return 'date';
  const column = fieldColumn(field);
  if (column === undefined) throw new Error(`the field ${field.name} has no column`);
  return column === 'json' ? 'multiple' : column;
}

/** What names mean in the filters of a world: as for records, the id among them. */
export function resolverOf(columns: World['columns'], engine: Engine): Resolve {
  return (name) => {
    const [head = '', ...path] = name.split('.');
    if (name === 'id') return { sql: identifier('id'), kind: 'text', isNeverNull: true };
    const column = Object.hasOwn(columns, head) ? columns[head] : undefined;
    if (column === undefined) return undefined;
    const kind = column.kind === 'multiple' ? 'text' : column.kind;
    const operand: Operand = {
      sql: identifier(head),
      kind,
      ...(column.isNullable ? {} : { isNeverNull: true }),
      ...(engine === 'postgres' && column.kind === 'text' && column.isShort !== true
        ? { prefix: shortPrefix(head) }
        : {}),
    };
    if (path.length === 0) return operand;
    return column.kind === 'json' ? { ...operand, path: jsonPath(path) } : undefined;
  };
}

/** As long ones have it whose fields are indexed; here so short that most texts go on behind it. */
function shortPrefix(column: string): Prefix {
  return { sql: sql`left(${identifier(column)}, 2)`, length: 2, isWhole: false };
}
