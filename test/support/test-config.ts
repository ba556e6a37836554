import { after } from 'node:test';
import { readConfig, type Config, type Flags } from '../../src/config/config.ts';
import { openTestPostgres } from './postgres.ts';

/** The engine of the whole run: the gate runs all tests of the API once for each engine. */
export const testEngine = process.env['CHANCERY_TEST_ENGINE'] === 'postgres' ? 'postgres' : 'sqlite';

/** True in a run of `npm run generate`: tests then write the files that they compare with otherwise. */
export const isGenerating = process.env['CHANCERY_GENERATE'] === '1';

/** Tests look into instances, whose parts they replace: they are run in the thread of the test. */
const oneThread = { 'host-threads': '0' };

/** Any key would do, as long as it is the same for the same data. */
export const masterKey = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';

/** Returns a config for this directory, or for the database that stands for it. */
export async function testConfig(data: string, flags: Flags = {}): Promise<Config> {
  const place = testEngine === 'postgres' ? { postgres: await databaseOf(data) } : {};
  // A machine that is slow for a moment must not time out a test's query.
  const patient = { 'query-timeout': '30' };
  return readConfig(
    { data, port: '0', dev: true, ...patient, ...oneThread, ...place, ...flags },
    { CHANCERY_KEY: masterKey },
  );
}

/** Returns the PostgreSQL database that stands for a directory. It is created on first use, as a copy of `template` if given. */
export async function databaseOf(data: string, template?: string): Promise<string> {
  const server = await openTestPostgres();
  const database = databases.get(data) ?? server.createDatabase(template);
  databases.set(data, database);
  return database;
}

const databases = new Map<string, Promise<string>>();

// Each database has its own copy of PostgreSQL's catalogs: those of a whole run would fill the memory that holds them.
after(async () => {
  if (databases.size === 0) return;
  const server = await openTestPostgres();
  for (const database of databases.values()) await server.dropDatabase(await database);
});
