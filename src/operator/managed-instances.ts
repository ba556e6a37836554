import { AppError, type FieldErrors } from '../base/errors.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { fieldError, unknownMembers } from '../fields/field-error.ts';
import type { Operand, Resolve } from '../filters/operand.ts';
import { parseFilter } from '../filters/parse.ts';
import type { Alongside, InstanceChange } from '../instances/instance-directory.ts';
import { type Quotas, requireQuotas } from '../instances/quotas.ts';
import { removalDue } from '../instances/instance-removals.ts';
import {
  type InstanceRow,
  type InstanceState,
  type Labels,
  readRows,
  servedStates,
  unknownInstance,
  type InstanceEntry,
} from '../instances/instance-rows.ts';
import type { Actor, AuditAction } from '../logs/audit-entry.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver, type ListSource } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { OperatorControl } from './operator-control.ts';

/** Only the row of one that has replaced another has it. */
const shownIdOfRow = sql`CASE WHEN shown_id = '' THEN id ELSE shown_id END`;

const shownStates = ['active', 'suspended', 'replacing', 'deleted'] as const;

/** An instance as the operator's programs see it. */
export interface ManagedInstance {
  readonly id: string;
  readonly slug: string;
  readonly host: string | null;
  readonly state: (typeof shownStates)[number];
  readonly stateSince: Timestamp;
  readonly created: Timestamp;
  readonly labels: Labels;
  readonly quotas: Quotas;
  /** Until when it can be restored; empty unless it is deleted. */
  readonly restorableUntil: Timestamp;
}

/** One that is being made or removed is not shown. */
function toManaged(row: InstanceRow, deletedDays: number): ManagedInstance | undefined {
  const { shownId: id, slug, host, stateSince, created, labels, quotas } = row;
  const state = shownStates.find((name) => name === row.state);
  if (state === undefined) return undefined;
  const restorableUntil = state === 'deleted' ? toTimestamp(removalDue(row, deletedDays)) : '';
  return { id, slug, host, state, stateSince, created, labels, quotas, restorableUntil };
}

/**
 * Finds an instance by its slug, or else by its id; a deleted one by its id, or by the slug that it had where nobody else has it. Throws
 * not_found, and bad_request where several deleted ones had the slug.
 */
export async function findManaged(
  { database, deletedDays }: OperatorControl,
  name: string,
): Promise<ManagedInstance> {
  const rows = await readRows(database, sql`slug = ${name} OR ${isKnownAs(name)}`);
  const row = rows.find(({ slug, state }) => slug === name && state !== 'filling') ?? rows[0];
  const managed = row && toManaged(row, deletedDays);
  if (managed !== undefined) return managed;
  const deleted = (await readRows(database, sql`state = 'deleted'`)).filter(({ slug }) => slug === name);
  const [only, ...others] = deleted;
  const before = only && toManaged(only, deletedDays);
  if (before === undefined) throw unknownInstance(name);
  if (others.length === 0) return before;
  const ids = deleted.map(({ shownId }) => shownId).join(', ');
  throw new AppError('bad_request', `Several deleted instances had the slug ${name}: give one of ${ids}.`);
}

/** Holds for the instance that is known by this id. */
function isKnownAs(shownId: string): Sql {
  return sql`${shownIdOfRow} = ${shownId}`;
}

/** Returns the id that the data of an instance is stored under. */
export async function storedId(
  { database }: OperatorControl,
  { id: shownId }: ManagedInstance,
): Promise<string> {
  const [row] = await readRows(database, isKnownAs(shownId));
  return row?.id ?? shownId;
}

/** As {@link findManaged}, without deleted ones. */
export async function findServed(operator: OperatorControl, name: string): Promise<ManagedInstance> {
  const managed = await findManaged(operator, name);
  if (managed.state === 'deleted') throw unknownInstance(name);
  return managed;
}

/** Returns the entry of an instance, which another process may have made a moment ago. Throws not_found. */
export async function entryOf(
  { directory }: OperatorControl,
  { id, slug }: ManagedInstance,
): Promise<InstanceEntry> {
  if (directory.findShown(id) === undefined) await directory.refresh();
  const entry = directory.findShown(id);
  if (entry === undefined) throw unknownInstance(slug);
  return entry;
}

const id: Operand = column('text', shownIdOfRow);

const resolveColumn = columnResolver({
  id,
  slug: column('text', sql`slug`),
  host: { sql: sql`host`, kind: 'text' },
  state: column('text', sql`state`),
  stateSince: column('date', sql`state_since`),
  created: column('date', sql`created`),
});

const resolve: Resolve = (name) => {
  const [first, ...steps] = name.split('.');
  if (first !== 'labels' || steps.length === 0 || steps.includes('') || name.includes(':'))
    return resolveColumn(name);
  // The name of a label may have dots.
  return { sql: sql`labels`, kind: 'json', path: [steps.join('.')] };
};

/** A page of instances, in the order in which they were made. Throws bad_request (filter, sort). */
export async function listManaged(
  operator: OperatorControl,
  query: ListQuery,
): Promise<ListResult<ManagedInstance>> {
  const { database, deletedDays } = operator;
  const { names } = database;
  const page = await runList(database, query, sourceOf(operator, sql`id`, shownStates));
  const ids = page.items.map(([value]) => String(value));
  const rows = await readRows(database, sql`id${names.anyOf(ids)}`);
  const byId = new Map(rows.map((row) => [row.id, toManaged(row, deletedDays)]));
  return { ...page, items: ids.flatMap((one) => byId.get(one) ?? []) };
}

function sourceOf(
  { database, clock }: OperatorControl,
  columns: Sql,
  states: readonly InstanceState[],
): ListSource {
  const { names } = database;
  const position = column('number', sql`position`);
  const isInTime = names.isInTime(position.sql, 'for every row');
  return {
    columns,
    from: names.table('$instance'),
    where: sql`state${names.anyOf(states)}`,
    ...(isInTime && { isInTime }),
    tieBreaker: position,
    resolve,
    dialect: names.dialect,
    now: clock.now(),
  };
}

type NamedInstance = Pick<ManagedInstance, 'id' | 'slug'>;

/** Returns the instances that a filter selects, without deleted ones, in the order in which they were made: at most `max`. Throws bad_request. */
export async function selectServed(
  operator: OperatorControl,
  filter: string,
  max: number,
): Promise<readonly NamedInstance[]> {
  const tree = filter === '' ? undefined : parseFilter(filter);
  const query = { filter: tree, sort: [], fields: undefined, page: 1, perPage: max, skipTotal: true };
  const source = sourceOf(operator, sql`${shownIdOfRow}, slug`, servedStates);
  const { items } = await runList(operator.database, { ...query, cursor: undefined }, source);
  return items.map(([shownId, slug]) => ({ id: String(shownId), slug: String(slug) }));
}

/** Finds instances by their slugs or else by their ids, without deleted ones; undefined for a name that none has. */
export async function findAllServed(
  { database }: OperatorControl,
  slugsOrIds: readonly string[],
): Promise<readonly (NamedInstance | undefined)[]> {
  const { names } = database;
  const rows = await readRows(
    database,
    sql`state${names.anyOf(servedStates)} AND (slug${names.anyOf(slugsOrIds)} OR ${shownIdOfRow}${names.anyOf(slugsOrIds)})`,
  );
  const named = rows.map(({ shownId, slug }) => ({ id: shownId, slug }));
  const bySlug = new Map(named.map((one) => [one.slug, one]));
  const byId = new Map(named.map((one) => [one.id, one]));
  return slugsOrIds.map((name) => bySlug.get(name) ?? byId.get(name));
}

const changedMembers = ['slug', 'host', 'labels', 'quotas'] as const;
const answerMembers = ['id', 'state', 'stateSince', 'created', 'restorableUntil', 'url'] as const;

/** Decodes slug, host, labels and quotas; those that are absent are left out. Adds what is wrong to `problems`. */
export function decodePlace(body: JsonObject, problems: Record<string, FieldErrors[string]>): InstanceChange {
  const { slug, host, labels, quotas } = body;
  const change: { slug?: string; host?: string | null; labels?: Labels; quotas?: Quotas } = {};
  const wrongType = fieldError('validation_unsupported_value_type');
  if (typeof slug === 'string') change.slug = slug;
  else if (slug !== undefined) problems['slug'] = wrongType;
  if (host === null) change.host = null;
  else if (typeof host === 'string') change.host = host.toLowerCase();
  else if (host !== undefined) problems['host'] = wrongType;
  if (isLabels(labels)) change.labels = labels;
  else if (labels !== undefined) problems['labels'] = wrongType;
  if (quotas !== undefined) decodeQuotas(quotas, change, problems);
  return change;
}

function decodeQuotas(
  value: unknown,
  change: { quotas?: Quotas },
  problems: Record<string, FieldErrors[string]>,
): void {
  try {
    change.quotas = requireQuotas(value);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    problems['quotas'] = error.details;
  }
}

function isLabels(value: unknown): value is Labels {
  return isJsonObject(value) && Object.values(value).every((label) => typeof label === 'string');
}

/** Changes slug, host, labels and quotas of an instance. Throws bad_request, not_found. */
export async function changeManaged(
  operator: OperatorControl,
  { name, body, actor }: { readonly name: string; readonly body: JsonObject; readonly actor: Actor },
): Promise<ManagedInstance> {
  const details: Record<string, FieldErrors[string]> = {
    ...unknownMembers(body, changedMembers, answerMembers),
  };
  const change = decodePlace(body, details);
  if (Object.keys(details).length > 0)
    throw new AppError('bad_request', 'Failed to change instance.', { details });
  const before = await findServed(operator, name);
  const { slug = before.slug, host = before.host, labels, quotas } = change;
  const entries: (readonly [AuditAction, JsonObject])[] = [];
  if (slug !== before.slug) entries.push(['instance.rename', { before: before.slug, slug }]);
  if (host !== before.host) entries.push(['instance.host', { host }]);
  if (labels !== undefined) entries.push(['instance.label', { labels }]);
  if (quotas !== undefined) entries.push(['instance.quota', { quotas }]);
  await operator.directory.change(await storedId(operator, before), change, async (tx) => {
    for (const [action, entryDetails] of entries)
      await operator.audit.append(tx, actor, { action, target: before.id, details: entryDetails });
  });
  return findManaged(operator, before.id);
}

const lifeActions = {
  suspend: 'instance.suspend',
  resume: 'instance.resume',
  delete: 'instance.delete',
  restore: 'instance.restore',
} as const satisfies Readonly<Record<string, AuditAction>>;

/** Suspends, resumes, deletes or restores an instance. Throws bad_request, not_found. */
export async function changeLife(
  operator: OperatorControl,
  step: keyof typeof lifeActions,
  { name, actor }: { readonly name: string; readonly actor: Actor },
): Promise<ManagedInstance> {
  const managed = await (step === 'restore' ? findManaged : findServed)(operator, name);
  const { id: target, slug } = managed;
  const alongside: Alongside = (tx) =>
    operator.audit.append(tx, actor, { action: lifeActions[step], target, details: { slug } });
  await operator.directory[step](await storedId(operator, managed), alongside);
  return findManaged(operator, target);
}
