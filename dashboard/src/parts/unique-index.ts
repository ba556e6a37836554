import type { Collection } from '../api/client.ts';

/** True where an index makes the values of this field alone unique. */
export function isUniqueOn({ indexes }: Pick<Collection, 'indexes'>, field: string): boolean {
  return indexes.some((text) => isUniqueIndex(text, field));
}

function isUniqueIndex(text: string, field: string): boolean {
  const [, columns = '', rest = ''] = /^\s*CREATE\s+UNIQUE\s[^(]*\(([^)]*)\)([\s\S]*)$/i.exec(text) ?? [];
  const [name = ''] = /\w+/.exec(columns) ?? [];
  return name === field && !columns.includes(',') && !/\bWHERE\b(?!\s*`?\w+`?\s*!=\s*'')/i.test(rest);
}

/** The indexes with, or without, one that makes the values of the field unique. An empty text is no value. */
export function withUnique(collection: Collection, field: string, isUnique: boolean): readonly string[] {
  const others = collection.indexes.filter((text) => !isUniqueIndex(text, field));
  if (!isUnique) return others;
  const column = collection.fields.find(({ name }) => name === field);
  const isText = column !== undefined && ['text', 'email', 'url', 'date'].includes(column.type);
  const condition = isText ? ` WHERE \`${field}\` != ''` : '';
  return [...others, indexText(collection, { fields: [field], isUnique: true }) + condition];
}

export interface IndexChoice {
  readonly fields: readonly string[];
  readonly isUnique: boolean;
}

export function indexText(collection: Collection, { fields, isUnique }: IndexChoice): string {
  const wanted = `idx_${[collection.name, ...fields].join('_')}`.slice(0, 60);
  let name = wanted;
  for (let count = 2; collection.indexes.some((text) => text.includes(`\`${name}\``)); count += 1)
    name = `${wanted}_${count}`;
  const columns = fields.map((field) => `\`${field}\``).join(', ');
  return `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX \`${name}\` ON \`${collection.name}\` (${columns})`;
}
