import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TokenKind } from '../../src/collections/collection.ts';
import { newId } from '../../src/base/ids.ts';
import { tokenSecretPlace } from '../../src/instances/token-secrets.ts';
import { type MasterKey, parseMasterKey } from '../../src/secrets/master-key.ts';
import { sealerFor } from '../../src/secrets/seal.ts';
import { newTokenSecret } from '../../src/secrets/token.ts';

/**
 * Adds copies of the first instance to a data directory that no server uses: thousands would take minutes by commands. Their slugs are
 * `one0`, `one1` and so on.
 */
export function makeFleet(directory: string, count: number): void {
  const template = join(directory, 'instances', firstId(directory), 'data.db');
  const key = parseMasterKey(readFileSync(join(directory, 'master.key'), 'utf8'), 'The master key');
  const files = addInstances(
    directory,
    Array.from({ length: count }, (_, number) => `one${number}`),
  );
  for (const { id, file } of files) {
    copyFileSync(template, file);
    sealAnew(file, id, key);
  }
  // Gigabytes that are still on their way to the disk would delay what is measured.
  spawnSync('sync');
}

function firstId(directory: string): string {
  const control = new DatabaseSync(join(directory, 'control.db'), { readOnly: true });
  const row = control.prepare('SELECT id FROM "$instance" ORDER BY position LIMIT 1').get();
  control.close();
  return String(row?.['id']);
}

/** Adds an instance without a file to the directory of instances, and returns where its file is to be. */
export function addInstance(directory: string, slug: string): string {
  return String(addInstances(directory, [slug])[0]?.file);
}

function addInstances(
  directory: string,
  slugs: readonly string[],
): readonly { readonly id: string; readonly file: string }[] {
  const control = new DatabaseSync(join(directory, 'control.db'));
  const insert = control.prepare(
    `INSERT INTO "$instance" (id, slug, created) VALUES (?, ?, '2026-01-01 00:00:00.000Z')`,
  );
  control.exec('BEGIN');
  const files = slugs.map((slug) => {
    const id = newId();
    const folder = join(directory, 'instances', id);
    mkdirSync(folder);
    insert.run(id, slug);
    return { id, file: join(folder, 'data.db') };
  });
  control.exec(`UPDATE "$setting" SET value = '${newId()}' WHERE name = 'directory_version'; COMMIT`);
  control.close();
  return files;
}

/** Returns when webhooks of instances are due that are not open, the first first, in milliseconds since 1970. */
export function readDues(directory: string): readonly number[] {
  const control = new DatabaseSync(join(directory, 'control.db'), { readOnly: true });
  const rows = control.prepare('SELECT webhooks FROM "$due" WHERE webhooks > 0 ORDER BY webhooks').all();
  control.close();
  return rows.map(({ webhooks }) => Number(webhooks));
}

/** Gives the copy secrets of its own: those of the template open nowhere else. */
function sealAnew(file: string, id: string, key: MasterKey): void {
  const sealer = sealerFor(key, id);
  const database = new DatabaseSync(file);
  database.exec('PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN');
  const rows = database.prepare(`SELECT collection, name FROM "$secret" WHERE record = ''`).all();
  const update = database.prepare(
    `UPDATE "$secret" SET value = ? WHERE collection = ? AND record = '' AND name = ?`,
  );
  for (const { collection, name } of rows) {
    // Only token secrets belong to a collection rather than to a record.
    const place = tokenSecretPlace(String(collection), String(name) as TokenKind);
    update.run(sealer.seal(newTokenSecret(), place), String(collection), String(name));
  }
  database.exec('COMMIT; PRAGMA journal_mode = WAL');
  database.close();
}
