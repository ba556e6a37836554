import type { Field } from '../../api/client.ts';
import { choicesOf, unreachable } from '../../api/members-of.ts';

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

/** Returns a field of a type with its default options, and an id that no other has: it is new, whatever was called so before. */
export function newField(type: FieldType, name: string): Field {
  const common = {
    id: `${type}${crypto.getRandomValues(new Uint32Array(1))[0]}`,
    name,
    system: false,
    hidden: false,
    presentable: false,
  };
  const usual = { ...common, help: '', required: false };
  switch (type) {
    case 'text':
      return { ...usual, type, min: 0, max: 0, pattern: '', autogeneratePattern: '', primaryKey: false };
    case 'number':
      return { ...usual, type, min: null, max: null, onlyInt: false };
    case 'bool':
    case 'geoPoint':
      return { ...usual, type };
    case 'email':
    case 'url':
      return { ...usual, type, exceptDomains: [], onlyDomains: [] };
    case 'editor':
      return { ...usual, type, maxSize: 0, convertURLs: false };
    case 'date':
      return { ...usual, type, min: '', max: '' };
    case 'autodate':
      return { ...common, type, onCreate: true, onUpdate: false };
    case 'select':
      return { ...usual, type, values: [], maxSelect: 1 };
    case 'file':
      return { ...usual, type, maxSize: 0, maxSelect: 1, mimeTypes: [], thumbs: [], protected: false };
    case 'relation':
      return { ...usual, type, collectionId: '', cascadeDelete: false, minSelect: 0, maxSelect: 1 };
    case 'json':
      return { ...usual, type, maxSize: 0 };
    case 'password':
      return { ...usual, type, min: 8, max: 0, pattern: '', cost: 0 };
    default:
      return unreachable(type);
  }
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
