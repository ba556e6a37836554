import type { Collection, Field } from '../../api/client.ts';
import type { Step } from './bulk-work.ts';
import { readCell } from './field-values.ts';

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
      if (field !== undefined && text !== '') body[name] = readCell(field, text);
      if (field?.type === 'password' && collection.type === 'auth') body[`${name}Confirm`] = text;
    }
    // The head is line 1.
    return { subject: `line ${index + 2}`, kind: 'create', body };
  });
}
