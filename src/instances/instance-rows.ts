import { assert } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Timestamp } from '../base/timestamp.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Reader, Row, Transaction } from '../storage/database.ts';
import type { Quotas } from './quotas.ts';

/**
 * The states of an instance:
 *
 *   active ◄──► suspended      every route is refused, webhooks wait
 *      │            │
 *      └► deleted ◄─┘          not found; its slug and host are free; can be restored
 *            │
 *         emptying             its files are being removed from S3; it cannot be restored any more
 *            │
 *         removing             its data is being removed; then its row goes
 *
 *   filling ──► active         an archive is being imported into it; not found
 *
 *   active ──► replacing ──► deleted     a backup that was imported beside it takes its place: every request is told to come again
 */
export type InstanceState =
  'active' | 'suspended' | 'deleted' | 'emptying' | 'removing' | 'filling' | 'replacing';

export type Labels = Readonly<Record<string, string>>;

/** An instance in any state, as the operator sees it. One that is deleted shows the slug and the host that it had. */
export interface StoredInstance {
  /** What its data is stored under. */
  readonly id: string;
  /** What it is known by: another one than `id` once a backup was restored in its place. */
  readonly shownId: string;
  readonly slug: string;
  /** The host name of this instance, in lower case and without a port; null when it is reached by its slug. */
  readonly host: string | null;
  readonly created: Timestamp;
  readonly state: InstanceState;
  readonly stateSince: Timestamp;
  readonly labels: Labels;
  readonly quotas: Quotas;
  /** What it seals with, sealed by the master key; empty where that is derived from its id. */
  readonly key: string;
}

/** An instance in the directory, whether or not its file is open. One that requests find is active, suspended or replacing. */
export type InstanceEntry = Pick<
  StoredInstance,
  'id' | 'shownId' | 'slug' | 'host' | 'created' | 'state' | 'quotas' | 'key'
>;

/** A row of `$instance`. */
export interface InstanceRow extends StoredInstance {
  readonly position: number;
  readonly change: number;
  /** Of a deleted instance: the state that it gets back. */
  readonly restoredState: InstanceState;
  /** Of a deleted instance: whether it is one that a restored backup has replaced. */
  readonly isReplaced: boolean;
  /** Of one that is being filled: whether another run may go on with it. */
  readonly isResumable: boolean;
}

const rowColumns = sql`position, id, shown_id, slug, host, created, state, state_since, labels, quotas, key, before_delete, change`;

/** Whether requests find an instance in this state. */
export function isServed(state: InstanceState): boolean {
  return servedStates.includes(state);
}

/** What clients of a suspended instance are told. */
export const suspendedText = 'The instance is suspended.';

export const servedStates: readonly InstanceState[] = ['active', 'suspended', 'replacing'];

/** Returns the rows that meet a condition, the last changed last. */
export async function readRows(reader: Reader, condition: Sql): Promise<readonly InstanceRow[]> {
  const rows = await reader.all(sql`
    SELECT ${rowColumns} FROM ${reader.names.table('$instance')} WHERE ${condition} ORDER BY change, position`);
  return rows.map(toRow);
}

export async function countServed(reader: Reader): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT count(*) FROM ${names.table('$instance')} WHERE state${names.anyOf(servedStates)}`);
  return Number(row?.[0]);
}

/** Returns a text that differs whenever a row was added, changed or removed. */
export async function readVersion(reader: Reader): Promise<string> {
  const row = await reader.get(
    sql`SELECT value FROM ${reader.names.table('$setting')} WHERE name = 'directory_version'`,
  );
  return String(row?.['value'] ?? '');
}

/** Returns the next number of a counter, which stays locked until the commit: numbers grow in the order of the commits, on several nodes too. */
export async function nextCount(
  tx: Transaction,
  counter: 'directory_change' | 'operator_position',
): Promise<number> {
  const [row] = await tx.returning(sql`
    INSERT INTO ${tx.names.table('$setting')} AS counter (name, value) VALUES (${counter}, '1')
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(counter.value AS bigint) + 1 AS text) RETURNING value`);
  return Number(row?.[0]);
}

/** Returns the number of a change. */
async function nextChange(tx: Transaction): Promise<number> {
  const change = await nextCount(tx, 'directory_change');
  await tx.run(sql`
    INSERT INTO ${tx.names.table('$setting')} (name, value) VALUES ('directory_version', ${`change ${change}`})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
  return change;
}

export async function insertRow(
  tx: Transaction,
  { id, slug, host, created }: Pick<StoredInstance, 'id' | 'slug' | 'host' | 'created'>,
): Promise<void> {
  const change = await nextChange(tx);
  await tx.run(sql`
    INSERT INTO ${tx.names.table('$instance')} (id, slug, host, created, state_since, change)
    VALUES (${id}, ${slug}, ${host}, ${created}, ${created}, ${change})`);
}

/** What is known of an instance before it is shown. */
export type UnshownInstance = Pick<
  StoredInstance,
  'id' | 'shownId' | 'slug' | 'host' | 'created' | 'key' | 'labels'
>;

/** Inserts the row of an instance that is being filled, which gets its slug and host at the end. */
export async function insertFilling(
  tx: Transaction,
  {
    id,
    shownId,
    slug,
    host,
    created,
    key,
    labels = {},
    quotas = {},
    isResumable = false,
  }: Omit<UnshownInstance, 'labels'> & {
    readonly isResumable?: boolean;
    readonly labels?: Labels | undefined;
    readonly quotas?: Quotas | undefined;
  },
  now: Timestamp,
): Promise<void> {
  await insertRow(tx, { id, slug: hiddenSlug(id), host: null, created });
  const before = JSON.stringify({ slug, host, state: 'active', isResumable });
  await tx.run(sql`
    UPDATE ${tx.names.table('$instance')} SET state = ${'filling' satisfies InstanceState}, state_since = ${now}, before_delete = ${before}, key = ${key},
      shown_id = ${shownId}, labels = ${JSON.stringify(labels)}, quotas = ${JSON.stringify(quotas)}
    WHERE id = ${id}`);
}

/** A slug that nobody can choose, for an instance that nobody is to find. */
function hiddenSlug(id: string): string {
  return `~${id}`;
}

/** Changes a row as `decide` says, which returns what follows SET, or nothing. Throws not_found, and what `decide` throws. */
export async function changeRow(
  tx: Transaction,
  id: string,
  decide: (row: InstanceRow) => Sql | undefined,
): Promise<void> {
  const change = await nextChange(tx);
  const [row] = await readRows(tx, sql`id = ${id}`);
  if (row === undefined) throw unknownInstance(id);
  const set = decide(row);
  if (set === undefined) return;
  await tx.run(sql`
    UPDATE ${tx.names.table('$instance')} SET ${set}, change = ${change} WHERE id = ${id}`);
}

/** What follows SET for an instance that is deleted: another can have its slug and host at once. */
export function deletedSet({ id, slug, host, state }: InstanceRow, now: Timestamp): Sql {
  const before = JSON.stringify({ slug, host, state });
  return sql`slug = ${hiddenSlug(id)}, host = NULL, before_delete = ${before}, state = 'deleted', state_since = ${now}`;
}

/** What follows SET for an instance that is restored. */
export function restoredSet({ slug, host, restoredState }: InstanceRow, now: Timestamp): Sql {
  return sql`slug = ${slug}, host = ${host}, before_delete = '', state = ${restoredState}, state_since = ${now}`;
}

/** What follows SET for an instance that a backup is about to replace. */
export function replacingSet({ slug, host, state }: InstanceRow, now: Timestamp): Sql {
  const before = JSON.stringify({ slug, host, state });
  return sql`state = ${'replacing' satisfies InstanceState}, before_delete = ${before}, state_since = ${now}`;
}

/**
 * Puts an instance that was filled into the place of another, in one transaction. The replaced one becomes a deleted one, with a slug of its
 * own, which can be restored as a suspended one beside its successor. `requireFilled` throws where the filled one is not the caller's.
 */
export async function replaceRow(
  tx: Transaction,
  { id, replaced }: { readonly id: string; readonly replaced: string },
  { now, requireFilled }: { readonly now: Timestamp; readonly requireFilled: (row: InstanceRow) => void },
): Promise<void> {
  let before: InstanceRow | undefined;
  await changeRow(tx, replaced, (row) => {
    if (row.state !== 'replacing') throw new AppError('conflict', 'The instance was changed meanwhile.');
    before = row;
    const place = { slug: replacedSlug(row.slug, now), host: null, state: 'suspended', isReplaced: true };
    return sql`slug = ${hiddenSlug(row.id)}, host = NULL, shown_id = ${newId()}, before_delete = ${JSON.stringify(place)},
      state = 'deleted', state_since = ${now}`;
  });
  await changeRow(tx, id, (row) => {
    requireFilled(row);
    assert(before !== undefined, 'the replaced instance has a row');
    const { slug, host, labels, quotas, shownId, created } = before;
    return sql`slug = ${slug}, host = ${host}, shown_id = ${shownId}, labels = ${JSON.stringify(labels)}, quotas = ${JSON.stringify(quotas)}, created = ${created},
      before_delete = '', state = 'active', state_since = ${now}`;
  });
  // What was used goes on being the instance's.
  await tx.run(sql`UPDATE ${tx.names.table('$usage')} SET instance = ${id} WHERE instance = ${replaced}`);
}

/** The slug under which an instance is kept that was replaced at a time: `shop-20261128-103000`. */
function replacedSlug(slug: string, now: Timestamp): string {
  const [date = '', time = ''] = now.slice(0, 19).split(' ');
  return `${slug.slice(0, 24)}-${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}

/** Forgets the jobs and schedules of an instance that is removed. */
export async function deleteJobRows(tx: Transaction, shownId: string): Promise<void> {
  for (const table of ['$transfer', '$backup_schedule', '$cron_run'] as const)
    await tx.run(sql`DELETE FROM ${tx.names.table(table)} WHERE instance = ${shownId}`);
}

/** Removes a row, and what is noted of work in the instance. */
export async function deleteRow(
  tx: Transaction,
  id: string,
  state: 'removing' | 'filling' = 'removing',
): Promise<void> {
  await nextChange(tx);
  await tx.run(sql`DELETE FROM ${tx.names.table('$instance')} WHERE id = ${id} AND state = ${state}`);
}

export function unknownInstance(name: string): AppError {
  return new AppError('not_found', `There is no instance ${name}.`);
}

function toRow(row: Row): InstanceRow {
  const before = String(row['before_delete']);
  const stored = before === '' ? toPlace(row) : { ...toPlace(row), ...toPlace(parseObject(before)) };
  const [id, created] = [String(row['id']), String(row['created'])];
  return {
    ...stored,
    id,
    // Only one that took the place of another has one.
    shownId: String(row['shown_id']) || id,
    created,
    // Only this file writes it.
    state: String(row['state']) as InstanceState,
    // A row of an older version has no time.
    stateSince: String(row['state_since']) || created,
    // Only the directory writes them.
    labels: parseObject(String(row['labels'])) as Labels,
    quotas: parseObject(String(row['quotas'])),
    key: String(row['key']),
    restoredState: stored.state,
    isReplaced: before !== '' && parseObject(before)['isReplaced'] === true,
    isResumable: before !== '' && parseObject(before)['isResumable'] === true,
    position: Number(row['position']),
    change: Number(row['change']),
  };
}

function toPlace(row: Readonly<Record<string, unknown>>): {
  readonly slug: string;
  readonly host: string | null;
  readonly state: InstanceState;
} {
  const { slug, host, state } = row;
  return {
    slug: String(slug),
    host: typeof host === 'string' ? host : null,
    state: state === 'suspended' ? 'suspended' : 'active',
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  // This file has written it.
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}
