import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { controlMigrations } from '../migrations/control-migrations.ts';
import { instanceMigrations } from '../migrations/instance-migrations.ts';

/** The state of a file of a data directory, which is only read. */
export interface InspectedFile {
  /** Within the directory: `instances/k2m9x4q7w1z8b5n/data.db`. */
  readonly name: string;
  /** What is damaged, or why it cannot be read; undefined for a file that is whole. */
  readonly problem: string | undefined;
  /** How many migrations the file has, and how many this version has. */
  readonly steps: number;
  readonly currentSteps: number;
}

const problemsMax = 3;

/**
 * Looks through every page of `control.db` and of each instance's `data.db`. Opening the data would bring it to this version; this reads
 * only, and may run beside a server. Takes as long as reading the files, while this process does nothing else.
 */
export function inspectDirectory(directory: string): readonly InspectedFile[] {
  const folder = join(directory, 'instances');
  const ids = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  const instances = ids
    .map((id) => join('instances', id, 'data.db'))
    .filter((name) => existsSync(join(directory, name)));
  return [
    inspectFile(directory, 'control.db', controlMigrations.length),
    ...instances.map((name) => inspectFile(directory, name, instanceMigrations.length)),
  ];
}

function inspectFile(directory: string, name: string, currentSteps: number): InspectedFile {
  try {
    const database = new DatabaseSync(join(directory, name), { readOnly: true });
    try {
      const rows = database.prepare(`PRAGMA quick_check(${problemsMax})`).all();
      const report = rows.map((row) => String(row['quick_check'])).join('; ');
      const row = database.prepare('SELECT count(*) AS steps FROM "$migration"').get();
      return {
        name,
        problem: report === 'ok' ? undefined : report,
        steps: Number(row?.['steps']),
        currentSteps,
      };
    } finally {
      database.close();
    }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { name, problem, steps: 0, currentSteps };
  }
}
