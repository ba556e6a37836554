import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../src/base/ids.ts';
import { detectType } from '../../src/files/media-type.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { sql } from '../../src/sql/sql.ts';

export interface FilePlace {
  /** Name of the collection. */
  readonly collection: string;
  readonly record: string;
  readonly field: string;
  readonly name: string;
}

/** Stores a file and names it in a record, as an upload leaves it. */
export async function putFile(
  { files, database, collections }: Instance,
  { collection, record, field, name }: FilePlace,
  content: string | Uint8Array,
): Promise<void> {
  const path = join(files.uploadFolder, newId());
  await mkdir(files.uploadFolder, { recursive: true });
  await writeFile(path, content);
  const { id, fields } = collections.get(collection);
  const type = await detectType(Buffer.from(content), name);
  await files.store.put(`${id}/${record}/${name}`, { path, size: Buffer.byteLength(content), type });
  await rm(path, { force: true });
  const isList = Number(fields.find((one) => one.name === field)?.options['maxSelect']) > 1;
  const value = isList ? JSON.stringify([name]) : name;
  await database.write((tx) => {
    const table = tx.names.collectionTable(collection);
    return tx.run(sql`UPDATE ${table} SET ${tx.names.column(field)} = ${value} WHERE id = ${record}`);
  });
}
