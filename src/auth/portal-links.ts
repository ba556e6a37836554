import { type Caller, type KeyScope, portalOf } from '../access/caller.ts';
import { AppError, notFound } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { type JsonObject, ownMember } from '../base/json.ts';
import { fromTimestamp, type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { decodeOwner, isAccount } from '../endpoints/endpoint-owner.ts';
import { existingEndpoints, ownEndpoints } from '../endpoints/endpoint-reach.ts';
import { ownerOf } from '../endpoints/endpoint-conditions.ts';
import { invalidValue, unknownMembers } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import { withCurrentDefinitions } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import type { Actor } from '../logs/audit-entry.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver, type ListedTable, tableSource } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { digest, isDigestOf, newSecretText } from '../secrets/digest.ts';
import { lookupByKey, sql } from '../sql/sql.ts';
import type { Transaction, Tuple } from '../storage/database.ts';
import { decodeEndpoints } from './api-keys.ts';
import { decodeKeyExpires, decodeKeyScopes, type MemberErrors, memberReader } from './key-rows.ts';

/*
 * A portal link signs somebody in to the dashboard once, as a caller who is bound to endpoints or to those of an account:
 *
 *   POST portal-links ──► a URL with the link behind its `#`, which browsers send to nobody
 *   POST portal-links/use, by the page ──► the link is used up; a session `cp_…`
 *   requests with the session ──► a Caller bound to the endpoints (http/endpoint-keys.ts); its time begins again
 *
 * A row is either a link or its session, and has the digest of that alone.
 */
interface PortalLink {
  readonly id: string;
  /** Ids of the endpoints that it is bound to, also of those that were deleted since; null with an owner. */
  readonly endpoints: readonly string[] | null;
  /** The account whose endpoints it reaches, `<id of its collection>/<id>`; empty for none. */
  readonly owner: string;
  readonly scopes: readonly KeyScope[];
  readonly created: Timestamp;
  /** When it was opened; empty until then. */
  readonly opened: Timestamp;
  /** Until when it can be opened, or used once it was. */
  readonly expires: Timestamp;
  /** When its session ends, however much it is used; empty until it is opened. */
  readonly ends: Timestamp;
}

const hourMs = 3_600_000;

export const portalLimits = {
  /** Links and sessions of one instance. */
  linksMax: 1_000,
  /** How long a link can be opened, by default and at most. */
  linkMs: hourMs,
  linkMsMax: 7 * 24 * hourMs,
  /** After this time without a request, a session ends. */
  idleMs: hourMs,
  sessionMs: 12 * hourMs,
  /** A use within this time of the one before is not written. */
  renewMs: 5 * 60_000,
} as const;

const scopesOfPortals = ['webhooks:read', 'webhooks:write'] as const satisfies readonly KeyScope[];

export interface NewPortalLink {
  readonly link: PortalLink;
  /** What opens it. It must be shown now, as only its digest is stored. */
  readonly token: string;
}

/** Creates a portal link and audits that. Throws bad_request. */
export async function createPortalLink(
  instance: Instance,
  body: JsonObject,
  actor: Actor,
): Promise<NewPortalLink> {
  // The collection of the owner may have been made through another node.
  await instance.refresh();
  const { database, clock, audit, collections } = instance;
  const now = clock.now();
  const endpoints = await instance.endpoints.stored(database);
  const settings = decodePortalLink(body, { collections, endpoints, now });
  const id = newId();
  const token = `${id}${newSecretText()}`;
  const link: PortalLink = { id, ...settings, created: toTimestamp(now), opened: '', ends: '' };
  const write = async (tx: Transaction): Promise<void> => {
    if (link.owner !== '' && !(await isAccount(tx, instance, link.owner)))
      throw refusal({ owner: invalidValue('There is no such account.') });
    await insertLink(tx, link, { token, now });
    await audit.append(tx, actor, { action: 'portal.create', target: id, details: { ...settings } });
  };
  await withCurrentDefinitions(() => database.write(write));
  return { link, token };
}

type LinkSettings = Pick<PortalLink, 'endpoints' | 'owner' | 'scopes' | 'expires'>;
const settingNames = [
  'endpoints',
  'owner',
  'scopes',
  'expires',
] as const satisfies readonly (keyof LinkSettings)[];

interface DecodeContext extends Pick<Instance, 'collections'> {
  readonly endpoints: readonly { readonly id: string }[];
  readonly now: number;
}

function decodePortalLink(body: JsonObject, context: DecodeContext): LinkSettings {
  const errors: MemberErrors = { ...unknownMembers(body, settingNames) };
  const member = memberReader(body, errors);
  const settings = {
    endpoints: member('endpoints', (value) => decodeEndpoints(value, context), null),
    owner: member('owner', (value) => decodeOwner(value ?? '', context), ''),
    scopes: member('scopes', (value) => decodeKeyScopes(value ?? scopesOfPortals, scopesOfPortals), []),
    expires: member('expires', (value) => decodeExpires(value, context.now), ''),
  };
  const isBound = settings.endpoints !== null || settings.owner !== '';
  if (
    (settings.endpoints !== null && settings.owner !== '') ||
    (!isBound && Object.keys(errors).length === 0)
  )
    errors['endpoints'] = invalidValue('Either endpoints or an owner is required.');
  if (Object.keys(errors).length > 0) throw refusal(errors);
  return settings;
}

function decodeExpires(value: unknown, now: number): DecodedValue<Timestamp> {
  const decoded = decodeKeyExpires(value, now);
  if (!('value' in decoded)) return decoded;
  if (decoded.value === '') return { value: toTimestamp(now + portalLimits.linkMs) };
  return fromTimestamp(decoded.value) <= now + portalLimits.linkMsMax
    ? decoded
    : { error: invalidValue('Must be within seven days.') };
}

function refusal(details: MemberErrors): AppError {
  return new AppError('bad_request', 'Failed to create portal link.', { details });
}

/** Inserts the row of a link, without those that have ended. Throws bad_request when there are too many. */
async function insertLink(
  tx: Transaction,
  { id, endpoints, owner, scopes, created, expires }: PortalLink,
  { token, now }: { readonly token: string; readonly now: number },
): Promise<void> {
  const { names } = tx;
  const table = names.table('$portal_link');
  await tx.run(
    sql`DELETE FROM ${table} WHERE ${names.instance.condition} AND expires <= ${toTimestamp(now)}`,
  );
  const row = await tx.get(sql`SELECT count(*) AS links FROM ${table} WHERE ${names.instance.condition}`);
  if (Number(row?.['links']) >= portalLimits.linksMax)
    throw new AppError(
      'bad_request',
      `Failed to create portal link. There can be at most ${portalLimits.linksMax} links and sessions.`,
    );
  await tx.run(sql`
    INSERT INTO ${table} (${names.instance.column}id, digest, endpoints, owner, scopes, created, opened, expires, ends)
    VALUES (${names.instance.value}${id}, ${digest(token)}, ${JSON.stringify(endpoints)}, ${owner}, ${JSON.stringify(scopes)}, ${created}, '', ${expires}, '')`);
}

const LINK = /^([0-9a-z]{15})[0-9A-Za-z]{43}$/;
export const sessionPrefix = 'cp_';

export interface PortalSession {
  readonly link: PortalLink;
  /** The session, as its holder sends it. */
  readonly token: string;
}

/** Opens a link, which is used up, and audits that. Throws forbidden, the same for one that is wrong, expired, used or deleted. */
export async function openPortalLink(
  instance: Instance,
  body: JsonObject,
  actor: Actor,
): Promise<PortalSession> {
  const { database, clock, audit } = instance;
  const member = ownMember(body, 'token');
  const [link = '', id = ''] = LINK.exec(typeof member === 'string' ? member : '') ?? [];
  const token = `${sessionPrefix}${id}${newSecretText()}`;
  const now = clock.now();
  const opened = await database.write(async (tx) => {
    const { names } = tx;
    const isOpened = await tx.run(sql`
      UPDATE ${names.table('$portal_link')} SET digest = ${digest(token)}, opened = ${toTimestamp(now)},
        expires = ${toTimestamp(now + portalLimits.idleMs)}, ends = ${toTimestamp(now + portalLimits.sessionMs)}
      WHERE ${names.instance.condition} AND id = ${id} AND digest = ${digest(link)} AND expires > ${toTimestamp(now)}`);
    if (isOpened > 0) await audit.append(tx, actor, { action: 'portal.open', target: id });
    return isOpened > 0;
  });
  const row = opened ? await readLink(instance, id) : undefined;
  if (row === undefined) {
    audit.note(actor, { action: 'portal.open', outcome: 'refused' });
    throw new AppError('forbidden', 'The portal link is not valid, has expired or was used.');
  }
  return { link: row.link, token };
}

/** A row of `$portal_link`. */
interface StoredLink {
  readonly link: PortalLink;
  readonly digest: string;
}

const columns = sql`id, endpoints, owner, scopes, created, opened, expires, ends`;

async function readLink({ database }: Instance, id: string): Promise<StoredLink | undefined> {
  const { names } = database;
  const [row] = await database.tuples(
    lookupByKey(
      sql`SELECT ${columns}, digest FROM ${names.table('$portal_link')} WHERE ${names.instance.condition} AND id = ${id}`,
    ),
  );
  return row && { link: toLink(row), digest: String(row.at(-1)) };
}

function toLink(row: Tuple): PortalLink {
  const [id, endpoints, owner, scopes, created, opened, expires, ends] = row.map(String);
  // Written by createPortalLink, which checked it.
  const storedScopes = JSON.parse(String(scopes)) as readonly string[];
  return {
    id: String(id),
    // As above.
    endpoints: JSON.parse(String(endpoints)) as readonly string[] | null,
    owner: String(owner),
    scopes: scopesOfPortals.filter((scope) => storedScopes.includes(scope)),
    created: String(created),
    opened: String(opened),
    expires: String(expires),
    ends: String(ends),
  };
}

const SESSION = /^cp_([0-9a-z]{15})[0-9A-Za-z]{43}$/;

/**
 * Returns the caller of a session. It is read each time, so that one that was deleted through any node ends at once. Throws unauthorized
 * where it has ended: also with its last endpoint, and with its account.
 */
export async function callerOfPortal(instance: Instance, text: string): Promise<Caller> {
  const { database, clock } = instance;
  const [, id] = SESSION.exec(text) ?? [];
  const row = id === undefined ? undefined : await readLink(instance, id);
  if (row === undefined || row.link.opened === '' || !isDigestOf(row.digest, text)) throw ended();
  const { link } = row;
  if (fromTimestamp(link.expires) <= clock.now()) throw ended();
  const { scopes, owner } = link;
  const bounds = { scopes, collections: null };
  if (owner === '') {
    const endpoints = await existingEndpoints(database, link.endpoints ?? []);
    if (endpoints.length === 0) throw ended();
    renew(instance, link);
    return { kind: 'superuser', id: link.id, key: { ...bounds, endpoints, portal: {} } };
  }
  if (!(await withCurrentDefinitions(() => isAccount(database, instance, owner)))) throw ended();
  renew(instance, link);
  const endpoints = await ownEndpoints(database, owner);
  return { kind: 'superuser', id: link.id, key: { ...bounds, endpoints, portal: { owner: ownerOf(owner) } } };
}

function ended(): AppError {
  return new AppError('unauthorized', 'The portal session has ended.');
}

/** Writes that a session was used, without holding up the request. A failed write is made up for by the next use. */
function renew({ database, clock }: Instance, { id, expires, ends }: PortalLink): void {
  const until = Math.min(clock.now() + portalLimits.idleMs, fromTimestamp(ends));
  if (until - fromTimestamp(expires) < portalLimits.renewMs) return;
  const isWritten = database.write((tx) =>
    tx.run(sql`
      UPDATE ${tx.names.table('$portal_link')} SET expires = ${toTimestamp(until)}
      WHERE ${tx.names.instance.condition} AND id = ${id} AND expires < ${toTimestamp(until)}`),
  );
  isWritten.catch(() => undefined);
}

/** Returns the link whose session the caller has. Throws forbidden for other callers. */
export async function getOwnPortal(instance: Instance, caller: Caller): Promise<PortalLink> {
  const id = portalOf(caller);
  const row = id === undefined ? undefined : await readLink(instance, id);
  if (row === undefined)
    throw new AppError('forbidden', 'The request was made without the session of a portal.');
  return row.link;
}

/** Deletes a link, and with it its session: once this resolves, every node refuses both. Audits that. Throws not_found. */
export async function deletePortalLink(instance: Instance, id: string, actor: Actor): Promise<void> {
  await instance.database.write(async (tx) => {
    const { names } = tx;
    const deleted = await tx.run(
      sql`DELETE FROM ${names.table('$portal_link')} WHERE ${names.instance.condition} AND id = ${id}`,
    );
    if (deleted === 0) throw notFound();
    await instance.audit.append(tx, actor, { action: 'portal.delete', target: id });
  });
}

const resolve = columnResolver({
  id: column('text', sql`id`),
  owner: column('text', sql`owner`),
  created: column('date', sql`created`),
  opened: column('date', sql`opened`),
  expires: column('date', sql`expires`),
});

/** Returns a page of the links and sessions that have not ended, in the order in which they were made. */
export async function listPortalLinks(
  { database, clock }: Instance,
  query: ListQuery,
): Promise<ListResult<PortalLink>> {
  const now = clock.now();
  const where = sql`expires > ${toTimestamp(now)}`;
  const table: ListedTable = { name: '$portal_link', columns, resolve, where };
  const page = await runList(database, query, tableSource(database, table, now));
  return { ...page, items: page.items.map(toLink) };
}
