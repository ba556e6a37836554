import { columnDefinition } from '../../src/collections/tables.ts';
import { joinSql, sql } from '../../src/sql/sql.ts';
import type { Names } from '../../src/storage/database.ts';
import { postgresNames } from '../../src/storage/postgres/postgres-names.ts';
import { sqliteNames } from '../../src/storage/sqlite/sqlite-names.ts';
import type { EnginePair, ParityEngine } from './engine-pair.ts';
import { relatedCollections, type RelatedName, relatedNames, type RelatedWorld } from './related-world.ts';

/** Nothing here takes long enough to be stopped. */
export const relatedTableNames: Readonly<Record<ParityEngine['engine'], Names>> = {
  sqlite: { ...sqliteNames, isInTime: () => undefined },
  postgres: postgresNames('related', 'related'),
};

/** Once, before the first world. */
export async function makeRelatedTables(engines: EnginePair): Promise<void> {
  await engines[1].reader.tuples(sql`CREATE SCHEMA related`);
  for (const { engine, reader } of engines) {
    const names = relatedTableNames[engine];
    for (const { id, name, fields } of relatedCollections()) {
      const columns = fields
        .filter((field) => field.name !== 'id')
        .map((field) => columnDefinition(field, names));
      const all = joinSql([names.tables.hiddenColumns(), ...columns], ', ');
      const table = names.collectionTable(name);
      await reader.tuples(sql`CREATE TABLE ${table} (${all})`);
      const keys = names.tables.addedKeys(id);
      if (keys !== undefined) await reader.tuples(sql`ALTER TABLE ${table} ${keys}`);
    }
  }
}

export async function fillRelatedTables(
  { engine, reader }: ParityEngine,
  { rows }: Pick<RelatedWorld, 'rows'>,
): Promise<void> {
  const names = relatedTableNames[engine];
  for (const { name, fields } of relatedCollections()) {
    const table = names.collectionTable(name);
    const columns = joinSql([sql`"$revision"`, ...fields.map((field) => names.column(field.name))], ', ');
    await reader.tuples(sql`DELETE FROM ${table}`);
    for (const row of rows[relatedNames.find((known) => known === name) ?? 'posts']) {
      const values = joinSql(
        [1, ...row].map((value) => sql`${value}`),
        ', ',
      );
      await reader.tuples(sql`INSERT INTO ${table} (${columns}) VALUES (${values})`);
    }
  }
}

/** Deletes all records of a collection but these. The relations that hold the ids of the others stay as they are. */
export async function keepOnly(
  { engine, reader }: ParityEngine,
  name: RelatedName,
  ids: readonly string[],
): Promise<void> {
  const kept = joinSql(
    ['', ...ids].map((id) => sql`${id}`),
    ', ',
  );
  await reader.tuples(
    sql`DELETE FROM ${relatedTableNames[engine].collectionTable(name)} WHERE id NOT IN (${kept})`,
  );
}
