/**
 * Imports data directories of real PocketBase binaries: `npm run imports -- FOLDER [--postgres]`, where FOLDER has an executable for each version, as
 * `pocketbase-0.39.1`. Each is started, filled through its API, stopped and imported, and all that the API shows is compared. Every second one
 * encrypts its settings. Exits with 1 where something differs.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { inspect, parseArgs } from 'node:util';
import { startTestPostgres } from '../support/postgres.ts';
import { importVersion } from './import-version.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { postgres: { type: 'boolean', default: false } },
});
const [folder] = positionals;
if (folder === undefined) {
  console.error('expected: the folder of the binaries, as pocketbase-0.39.1');
  process.exit(2);
}
const names = readdirSync(folder)
  .filter((name) => /^pocketbase-\d/.test(name))
  .toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }));
if (names.length === 0) throw new Error(`${folder} has no pocketbase-VERSION`);
const server = values.postgres ? await startTestPostgres() : undefined;
let failed = 0;
try {
  for (const [at, name] of names.entries()) {
    const postgres = await server?.createDatabase();
    const problems = await importVersion(join(folder, name), { postgres, isEncrypted: at % 2 === 1 }).catch(
      (error: unknown) => [inspect(error)],
    );
    console.log(`${name}: ${problems.length === 0 ? 'passed' : `${problems.length} differences`}`);
    for (const problem of problems) console.log(`  ${problem}`);
    if (problems.length > 0) failed += 1;
  }
} finally {
  await server?.stop();
}
console.log(`${names.length - failed} of ${names.length} versions passed.`);
process.exitCode = failed === 0 ? 0 : 1;
