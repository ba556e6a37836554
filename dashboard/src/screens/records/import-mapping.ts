import type { Collection, Field } from '../../api/client.ts';
import type { Step } from './bulk-work.ts';
import { textOfCell } from './csv.ts';

/** A file of CSV: its head, and its other lines with the number that an editor shows of them. */
export interface CsvFile {
  readonly name: string;
  readonly head: readonly string[];
  readonly lines: readonly (readonly string[])[];
}

/** The field that each column goes into, by position; empty for none. */
export type Mapping = readonly string[];

/** The fields that a file can fill. */
export function importedFields({ fields }: Collection): readonly Field[] {
  return fields.filter(({ type, name }) => type !== 'autodate' && type !== 'file' && name !== 'tokenKey');
}

/** Columns go into fields of the same name, whatever the case and the spaces. */
export function guessMapping(head: readonly string[], collection: Collection): Mapping {
  const fields = importedFields(collection);
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const free = new Set(fields.map(({ name }) => name));
  return head.map((title) => {
    const field = fields.find(({ name }) => free.has(name) && plain(name) === plain(title));
    if (field !== undefined) free.delete(field.name);
    return field?.name ?? '';
  });
}

/** One step for each line. */
export function toSteps(file: CsvFile, mapping: Mapping, collection: Collection): readonly Step[] {
  return file.lines.map((line, index) => {
    const body: Record<string, unknown> = {};
    for (const [position, name] of mapping.entries()) {
      const field = collection.fields.find((one) => one.name === name);
      const text = line[position] ?? '';
      if (field !== undefined && text !== '') body[name] = valueOf(field, text);
      if (field?.type === 'password' && collection.type === 'auth') body[`${name}Confirm`] = text;
    }
    // The head is line 1.
    return { subject: `line ${index + 2}`, kind: 'create', body };
  });
}

/** What a text of CSV means in a field. What does not fit goes as it is: the service says what it expected. */
function valueOf(field: Field, text: string): unknown {
  const isMany = 'maxSelect' in field && field.maxSelect > 1;
  if (field.type === 'json' || field.type === 'geoPoint' || isMany) return parsed(text, isMany);
  if (field.type === 'number') return Number.isNaN(Number(text)) ? text : Number(text);
  if (field.type === 'bool') return /^(?:true|yes|1)$/i.test(text.trim());
  return textOfCell(text);
}

function parsed(text: string, isMany: boolean): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return isMany ? text.split(/[,;|]/).map((one) => one.trim()) : text;
  }
}
