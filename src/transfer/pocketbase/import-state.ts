import { AppError } from '../../base/errors.ts';
import { isJsonObject, ownMember } from '../../base/json.ts';
import { superusersName } from '../../collections/collection.ts';
import { companionNames, usersCollection } from '../../instances/system-collections.ts';
import type { Instance } from '../../instances/instance.ts';
import { sql } from '../../sql/sql.ts';
import type { Database, Reader, Transaction } from '../../storage/database.ts';

/** Progress of an instance's import, stored in the instance itself: each step is committed together with its mark here. */
export interface ImportState {
  /** Fingerprint of the source (pocketbase-source.ts). */
  readonly fingerprint: string;
  readonly rotateTokens: boolean;
  readonly isFinished: boolean;
  /** Number of records of each complete collection, by collection id. */
  readonly done: Readonly<Record<string, number>>;
}

export async function readImportState(reader: Reader): Promise<ImportState | undefined> {
  const { names } = reader;
  const row = await reader.get(
    sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = 'import'`,
  );
  if (row === undefined) return undefined;
  // Only writeImportState below writes it.
  return JSON.parse(String(row['value'])) as ImportState;
}

export async function writeImportState(tx: Transaction, state: ImportState): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value)
    VALUES (${names.instance.value}'import', ${JSON.stringify(state)})
    ON CONFLICT (${names.instance.column}name) DO UPDATE SET value = excluded.value`);
}

/** Throws bad_request when another process has continued this import. */
export async function requireImportState(reader: Reader, expected: ImportState | undefined): Promise<void> {
  const state = await readImportState(reader);
  if (JSON.stringify(state) === JSON.stringify(expected)) return;
  throw new AppError('bad_request', 'Another import into this instance is running.');
}

/** Throws bad_request when the instance holds anything that is not of this import. */
export async function requireEmpty({ collections, slug }: Instance, reader: Reader): Promise<void> {
  const own = usersCollection('').id;
  const others = collections.all().filter(({ system, id }) => !system && id !== own);
  const [first] = others;
  if (first !== undefined) throw occupied(slug, `it has the collection ${first.name}`);
  const superusers = collections.get(superusersName).id;
  const isCompanion = (name: string): boolean => companionNames.some((companion) => companion === name);
  for (const { name, system } of collections.all()) {
    if (name === superusersName) continue;
    // Superusers may have signed in here, which leaves records of their origins in the companion collections.
    const where = system && isCompanion(name) ? sql`WHERE "collectionRef" <> ${superusers}` : sql`WHERE TRUE`;
    const row = await reader.get(
      sql`SELECT 1 AS found FROM ${reader.names.collectionTable(name)} ${where} LIMIT 1`,
    );
    if (row !== undefined) throw occupied(slug, `its collection ${name} has records`);
  }
}

function occupied(slug: string, why: string): AppError {
  return new AppError(
    'bad_request',
    `The instance ${slug} is not empty: ${why}. Make one for the import: instance create SLUG.`,
  );
}

/**
 * Claims a source for one instance of the service, the first to request it; throws bad_request for any other. Two instances with the
 * same token secrets would accept each other's tokens: an account of one would be signed in to the other.
 */
export async function claimSource(
  control: Database,
  fingerprint: string,
  { id, slug }: Instance,
): Promise<void> {
  const owner = await ownerOf(control, fingerprint);
  if (owner === undefined)
    await control.write((tx) =>
      tx.run(sql`
        INSERT INTO ${tx.names.table('$setting')} (name, value) VALUES (${nameOf(fingerprint)}, ${JSON.stringify({ id, slug })})
        ON CONFLICT DO NOTHING`),
    );
  requireOwner(await ownerOf(control, fingerprint), id);
}

/** Throws as {@link claimSource} does, but claims nothing. */
export async function requireUnclaimed(
  control: Database,
  fingerprint: string,
  { id }: Instance,
): Promise<void> {
  requireOwner(await ownerOf(control, fingerprint), id);
}

function requireOwner(owner: unknown, id: string): void {
  if (!isJsonObject(owner) || ownMember(owner, 'id') === id) return;
  const slug = String(ownMember(owner, 'slug'));
  throw new AppError(
    'bad_request',
    `This source was imported into the instance ${slug}, where its tokens are good. Into another one it goes with --rotate-tokens only, after which everybody signs in again.`,
  );
}

async function ownerOf(control: Database, fingerprint: string): Promise<unknown> {
  const row = await control.get(
    sql`SELECT value FROM ${control.names.table('$setting')} WHERE name = ${nameOf(fingerprint)}`,
  );
  return row === undefined ? undefined : JSON.parse(String(row['value']));
}

function nameOf(fingerprint: string): string {
  return `import ${fingerprint}`;
}
