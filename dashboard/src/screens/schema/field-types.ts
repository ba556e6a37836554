import type { Field } from '../../api/client.ts';
import type { FieldOf } from '../../api/collections.ts';
import { choicesOf } from '../../api/members-of.ts';
import type { Field as Option } from '../../parts/form/field.ts';

export type FieldType = Field['type'];

/** The types that people add, those of every day first, with what each holds. */
export const fieldTypes = choicesOf<FieldType>({
  text: 'Text',
  number: 'Number',
  bool: 'Bool',
  date: 'Date',
  select: 'Select',
  relation: 'Relation',
  file: 'File',
  email: 'Email',
  url: 'URL',
  editor: 'Editor (HTML)',
  json: 'JSON',
  geoPoint: 'Geo point',
  autodate: 'Autodate',
  password: 'Password',
});

/** Members that fields of most types have, and the one that only the service sets. */
type CommonName = Exclude<keyof FieldOf<'bool'>, never> | 'primaryKey';
type OwnName<One> = Exclude<keyof One, CommonName>;
type WithoutPath<One> = One extends Option ? Omit<One, 'path'> : never;

/** An option with what it is in a new field. */
type Row<Value> = WithoutPath<Option> & { readonly initial: Value };

const limit = (label: string, initial = 0) =>
  ({ kind: 'number', label, none: 0, placeholder: 'None', initial }) as const;
const bound = (label: string) =>
  ({ kind: 'number', label, isNullable: true, isDecimal: true, placeholder: 'None', initial: null }) as const;
const moment = (label: string, placeholder: string) =>
  ({ kind: 'text', label, placeholder, initial: '' }) as const;
const lines = (label: string, help: string, placeholder = '') =>
  ({ kind: 'list', label, help, placeholder, initial: [] }) as const;
const flag = (label: string, initial = false, help = '') =>
  ({ kind: 'switch', label, help, initial }) as const;
const pattern = { kind: 'text', isMono: true, label: 'Pattern', initial: '' } as const;
const count = { ...limit('Max', 1), help: '1 = single, more = list' };
const size = (standard: string) =>
  ({ kind: 'bytes', label: 'Largest size', none: 0, placeholder: standard, initial: 0 }) as const;
const domains = {
  onlyDomains: lines('Only these domains', 'One per line.'),
  exceptDomains: lines('Except these domains', 'One per line.'),
};

/** The options that only fields of a type have, in the order in which they are shown: one that the API gains is a type error here until it has a row. */
const options: {
  readonly [Type in FieldType]: { readonly [Name in OwnName<FieldOf<Type>>]: Row<FieldOf<Type>[Name]> };
} = {
  text: {
    min: limit('Shortest length'),
    max: limit('Longest length'),
    pattern: { ...pattern, help: 'A regular expression the whole text must match.' },
    autogeneratePattern: {
      ...pattern,
      label: 'Generate from a pattern',
      help: 'Generates a value when none is sent: [a-z0-9]{15}',
    },
  },
  number: { min: bound('Smallest'), max: bound('Largest'), onlyInt: flag('Whole numbers only') },
  bool: {},
  date: {
    min: moment('Earliest', '2026-01-01 00:00:00.000Z'),
    max: moment('Latest', '2026-12-31 23:59:59.999Z'),
  },
  select: { values: lines('Values', 'One per line, in display order.'), maxSelect: count },
  relation: {
    // The collections that there are come in where the field is shown.
    collectionId: { kind: 'choice', label: 'Collection', isSearched: true, choices: [], initial: '' },
    maxSelect: count,
    minSelect: limit('Min'),
    cascadeDelete: flag('Cascade delete', false, 'Deleting the related record also deletes this one.'),
  },
  file: {
    maxSelect: count,
    maxSize: size('5 MiB'),
    mimeTypes: lines('Only these types', 'One per line. Empty: all types.', 'image/png'),
    thumbs: lines('Thumbs', 'One per line: 100x100, 300x0.', '100x100'),
    protected: flag('Protected', false, 'Only those who may view the record can open its files.'),
  },
  email: domains,
  url: domains,
  editor: {
    maxSize: size('5 MiB'),
    convertURLs: flag('Convert URLs', false, 'Editors of the official dashboard leave the address out.'),
  },
  json: { maxSize: size('1 MiB') },
  geoPoint: {},
  autodate: {
    onCreate: flag('Set when a record is created', true),
    onUpdate: flag('Set when a record is updated'),
  },
  password: {
    min: limit('Shortest length', 8),
    max: limit('Longest length'),
    pattern,
    cost: limit('bcrypt cost'),
  },
};

/** Returns the options that only fields of this type have. */
export function ownOptions(type: FieldType): readonly Option[] {
  const rows: Readonly<Record<string, WithoutPath<Option>>> = options[type];
  return Object.entries(rows).map(([path, option]) => ({ ...option, path }));
}

/** Returns a field of a type with its default options, and an id that no other has: it is new, whatever was called so before. */
export function newField(type: FieldType, name: string): Field {
  const rows: Readonly<Record<string, Row<unknown>>> = options[type];
  return {
    id: `${type}${crypto.getRandomValues(new Uint32Array(1))[0]}`,
    name,
    type,
    system: false,
    hidden: false,
    presentable: false,
    ...(type !== 'autodate' && { help: '', required: false }),
    ...(type === 'text' && { primaryKey: false }),
    ...Object.fromEntries(Object.entries(rows).map(([option, { initial }]) => [option, initial])),
    // The table has all members of each type.
  } as Field;
}

/** Returns a name that is free: `text`, `text2`, … */
export function freeName(wanted: string, fields: readonly Field[]): string {
  const isTaken = (name: string): boolean => fields.some((field) => field.name === name);
  let name = wanted;
  for (let count = 2; isTaken(name); count += 1) name = `${wanted}${count}`;
  return name;
}

/** The fields that every collection has: they are shown, and hardly ever changed. */
export function isStandard(field: Field): boolean {
  return field.system || ['id', 'created', 'updated'].includes(field.name);
}

/** New fields come in front of the two dates that every collection ends with. */
export function withNew(fields: readonly Field[], field: Field): readonly Field[] {
  const end = fields.findLastIndex(({ name }) => name !== 'created' && name !== 'updated') + 1;
  return fields.toSpliced(end, 0, field);
}
