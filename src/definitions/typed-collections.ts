import { isJsonObject, type JsonObject } from '../base/json.ts';
import { printableLines } from '../base/printable.ts';

/** A collection of which types are made. */
export interface TypedCollection {
  readonly name: string;
  /** What its types begin with: `BlogPosts` of `blog_posts`. */
  readonly type: string;
  readonly id: string;
  readonly isAuth: boolean;
  /** Whether it is only read. */
  readonly isView: boolean;
  readonly fields: readonly TypedField[];
  readonly indexes: readonly string[];
}

export interface TypedField {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly isHidden: boolean;
  readonly isMultiple: boolean;
  /** Whether a record gets a value of its own where none is given. */
  readonly isGenerated: boolean;
  readonly values: readonly string[];
  readonly target: string;
}

/** Returns the collections of an instance by their names, without those of the service itself. */
export function typedCollections(definitions: readonly JsonObject[]): readonly TypedCollection[] {
  const types = new Set<string>();
  return definitions
    .filter(({ system }) => system !== true)
    .map(({ name, id, type, fields, indexes }) => ({
      name: String(name),
      id: String(id),
      isAuth: type === 'auth',
      isView: type === 'view',
      fields: Array.isArray(fields) ? fields.filter(isJsonObject).map(decodeField) : [],
      indexes: Array.isArray(indexes) ? indexes.map(String) : [],
    }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((collection) => ({ ...collection, type: newType(collection.name, types) }));
}

/** Returns a name in Pascal case that no other collection has. */
function newType(name: string, types: Set<string>): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const pascal = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join('');
  const base = /^[A-Z]/.test(pascal) ? pascal : `C${pascal}`;
  let type = base;
  for (let count = 2; types.has(type); count += 1) type = `${base}${count}`;
  types.add(type);
  return type;
}

function decodeField(field: JsonObject): TypedField {
  const { name, type, required, hidden, maxSelect, values, collectionId, autogeneratePattern } = field;
  return {
    name: String(name),
    type: String(type),
    isRequired: required === true,
    isHidden: hidden === true,
    isMultiple: typeof maxSelect === 'number' && maxSelect > 1,
    isGenerated: typeof autogeneratePattern === 'string' && autogeneratePattern !== '',
    values: Array.isArray(values) ? values.map(String) : [],
    target: String(collectionId),
  };
}

/** Whether a field is one of accounts that no answer has, and which no client sends as it is. */
export function isSecret({ name, isHidden }: TypedField): boolean {
  return isHidden && (name === 'password' || name === 'tokenKey');
}

/** Returns the type of a value in answers. */
export function valueType({ type, values, isMultiple, isRequired }: TypedField): string {
  const many = (one: string): string => (isMultiple ? `${one.includes(' | ') ? `(${one})` : one}[]` : one);
  switch (type) {
    case 'number':
      return 'number';
    case 'bool':
      return 'boolean';
    case 'json':
      return 'unknown';
    case 'geoPoint':
      return 'GeoPoint';
    case 'select': {
      // One that is not required may be empty.
      const empty = isMultiple || isRequired ? [] : [''];
      return many([...values, ...empty].map((value) => JSON.stringify(value)).join(' | ') || 'string');
    }
    case 'file':
    case 'relation':
      return many('string');
    default:
      return 'string';
  }
}

export const geoPointType = `/** A point on the earth, in degrees. */
export interface GeoPoint {
  lon: number;
  lat: number;
}
`;

interface MemberOptions {
  readonly isOptional?: boolean;
  readonly why?: string;
}

/** Returns a line of an interface. */
export function member(name: string, type: string, { isOptional = false, why }: MemberOptions = {}): string {
  const written = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
  const comment = why === undefined ? '' : `  /** ${why} */\n`;
  return `${comment}  ${written}${isOptional ? '?' : ''}: ${type};\n`;
}

/** Returns the text of a module. In literals, escapes mean the same; otherwise a value of a select could make the code look like another. */
export function moduleOf(parts: readonly string[]): string {
  return printableLines(parts.join('\n'));
}
