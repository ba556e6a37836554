import { isDeepStrictEqual } from 'node:util';
import type { World } from './read-world.ts';

type Values = Readonly<Record<string, unknown>>;

/** Returns a line for each difference between a world and what became of it, besides what is only there or only here by design. */
export function compareWorlds(source: World, imported: World): readonly string[] {
  const differences: string[] = [];
  const note: Note = (path, before, after) => {
    // Older versions show empty lists as null.
    const isEmpty = before === null && Array.isArray(after) && after.length === 0;
    if (!isEmpty && !isDeepStrictEqual(before, after))
      differences.push(`${path}: ${JSON.stringify(before)} became ${JSON.stringify(after)}`);
  };
  compareMembers(note, 'settings', { before: source.settings, after: imported.settings });
  for (const [name, collection] of source.collections) {
    const own = imported.collections.get(name);
    if (collection.type === 'view') continue;
    if (own === undefined) differences.push(`${name}: it is not there`);
    else compareCollection(note, name, { before: { ...collection }, after: { ...own } });
  }
  for (const [name, rows] of source.records) {
    const own = new Map((imported.records.get(name) ?? []).map((row) => [row['id'], row]));
    note(
      `${name}: records`,
      rows.map(({ id }) => id),
      [...own.keys()],
    );
    for (const row of rows)
      compareMembers(note, `${name}/${String(row['id'])}`, { before: row, after: own.get(row['id']) ?? {} });
  }
  note('files', [...source.files.keys()].toSorted(), [...imported.files.keys()].toSorted());
  for (const [path, bytes] of source.files) note(path, bytes, imported.files.get(path));
  note('accounts that can sign in', source.signedIn, imported.signedIn);
  return differences;
}

type Note = (path: string, before: unknown, after: unknown) => void;

interface Change<Value = unknown> {
  readonly before: Value;
  readonly after: Value;
}

/** Compares what the source has, member by member: newer versions have more. */
function compareMembers(note: Note, path: string, { before, after }: Change): void {
  if (!isValues(before) || !isValues(after)) return note(path, before, after);
  for (const [name, value] of Object.entries(before))
    compareMembers(note, `${path}.${name}`, { before: value, after: after[name] });
}

function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function compareCollection(note: Note, name: string, { before, after }: Change<Values>): void {
  const { fields: _fields, indexes, created, updated, ...rest } = before;
  compareMembers(note, name, { before: rest, after });
  // Those of the service itself are as old as the instance.
  if (before['system'] !== true) compareMembers(note, name, { before: { created, updated }, after });
  note(`${name}: indexes`, plainIndexes(indexes), plainIndexes(after['indexes']));
  const [there, here] = [fieldsOf(before), fieldsOf(after)];
  const names = there.map((field) => field['name']);
  const own = new Map(here.map((field) => [field['name'], field]));
  note(
    `${name}: fields`,
    names,
    [...own.keys()].filter((one) => names.includes(one)),
  );
  for (const field of there) {
    const path = `${name}.${String(field['name'])}`;
    compareMembers(note, path, { before: field, after: own.get(field['name']) ?? {} });
  }
}

/** Returns the texts of indexes without quotes and blanks, and without the table: older versions keep the name that a collection had. */
function plainIndexes(indexes: unknown): readonly string[] {
  if (!Array.isArray(indexes)) return [];
  return indexes.map((text) =>
    String(text)
      .replaceAll(/[`\s]/g, '')
      .replace(/ON\w+\(/, 'ON('),
  );
}

function fieldsOf({ fields }: Values): readonly Values[] {
  return Array.isArray(fields) ? fields.filter(isValues) : [];
}
