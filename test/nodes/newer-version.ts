/**
 * The command line of a version to come: its tables have one more step, which only versions admit that know it. Started by tests in place of
 * src/main.ts.
 */

import { runCommand } from '../../src/cli/commands/run-command.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Migration } from '../../src/storage/migrate.ts';
import { postgresMigrations } from '../../src/storage/migrations/postgres-migrations.ts';

// The list is an array, and nobody has read it yet.
const steps = postgresMigrations as Migration[];
steps.push({ name: 'later', statements: () => [sql`CREATE TABLE chancery.later (id integer)`] });
process.exit(await runCommand(process.argv.slice(2), process));
