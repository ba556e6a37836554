import { readContext } from '../../events/event-context.ts';
import { isTransition, recordEventKinds } from '../../events/event.ts';
import { foundByKeys, limit, sql } from '../../sql/sql.ts';
import type { Reader, Transaction, Tuple } from '../../storage/database.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { type DecidingInstance, decideEvent, type UndecidedEvent } from './decide-event.ts';
import { decideMirrored, type MirroredEvent } from './decide-transitions.ts';
import {
  type DecidedPair,
  type DecisionState,
  insertDecided,
  moveApart,
  moveTogether,
  readDecisions,
} from '../decision-cursor.ts';

/** Events of one step, and the bytes of their bodies; at least one is read. */
const eventsMax = 32;
const bytesMax = 1024 * 1024;
/** How long one step evaluates before it stores its decisions. */
const stepMs = 50;

export type StepInstance = DecidingInstance & Pick<WebhookInstance, 'endpoints' | 'dueClock' | 'events'>;

/** The result of a step of decisions. */
export interface StepResult {
  /** The numbers of the endpoints for which deliveries were inserted. */
  readonly recipients: ReadonlySet<number>;
  /** Nothing follows · more may follow · more follows once it is safe · another node made a step, or endpoints changed meanwhile. */
  readonly next: 'nothing' | 'more' | 'unsafe' | 'again';
  /** Why endpoints could not be decided, by their numbers. */
  readonly failed: ReadonlyMap<number, string>;
  /** Whether an account was deleted that endpoints belong to. */
  readonly hasOrphans?: boolean;
}

export interface StepContext {
  readonly state: DecisionState & { readonly cursor: number };
  /** No event at or before this position can appear any more. */
  readonly safe: number;
}

/**
 * Decides the next events for all endpoints of accounts that are not behind. One that cannot be decided falls behind the others.
 */
export async function decideTogether(
  instance: StepInstance,
  { state, safe }: StepContext,
): Promise<StepResult> {
  const { database, endpoints } = instance;
  const { cursor, apart } = state;
  const { owned } = await endpoints.byOwner(database);
  const isAt = ({ number }: Endpoint, position: number): boolean =>
    (apart.get(number)?.at ?? cursor) < position;
  const isBehind = ({ number }: Endpoint): boolean => (apart.get(number)?.at ?? cursor) < cursor;
  const failed = new Map<number, { readonly at: number; readonly cause: string }>();
  const decisions = await decideNext(instance, {
    from: cursor,
    safe,
    endpointsOf: ({ position }) =>
      owned.filter((one) => !isBehind(one) && !failed.has(one.number) && isAt(one, position)),
    onFailed: ({ position }, number, cause) => failed.set(number, { at: position - 1, cause }),
  });
  if (decisions.to === cursor) return { recipients: new Set(), next: decisions.next, failed: new Map() };
  const now = instance.dueClock.now();
  const isStored = await database.write(
    async (tx) => {
      if (!(await isUnchanged(tx, instance, { state, owned }))) return false;
      await storeDecisions(tx, instance, decisions);
      await moveTogether(tx, { from: cursor, to: decisions.to });
      for (const [number, { at, cause }] of failed) await moveApart(tx, number, { at, cause, since: now });
      return true;
    },
    { findsByKey: true },
  );
  const causes = new Map([...failed].map(([number, { cause }]) => [number, cause] as const));
  const owners = new Set(owned.map(({ owner }) => owner));
  const hasOrphans = decisions.deleted.some((record) => owners.has(record));
  return isStored
    ? { recipients: recipientsOf(decisions, owned), next: decisions.next, failed: causes, hasOrphans }
    : { recipients: new Set(), next: 'again', failed: new Map() };
}

/**
 * Decides the next events for one endpoint that is behind, by its number. It joins the others when it has caught up; until then its lane has the cause
 * and the time.
 */
export async function decideApart(
  instance: StepInstance,
  { state }: Pick<StepContext, 'state'>,
  number: number,
): Promise<StepResult> {
  const { database, endpoints } = instance;
  const behind = state.apart.get(number);
  const endpoint = (await endpoints.byOwner(database)).owned.find((one) => one.number === number);
  if (behind === undefined || endpoint === undefined)
    return { recipients: new Set(), next: 'nothing', failed: new Map() };
  let failure: { readonly at: number; readonly cause: string } | undefined;
  const decisions = await decideNext(instance, {
    from: behind.at,
    safe: state.cursor,
    endpointsOf: () => (failure === undefined ? [endpoint] : []),
    onFailed: ({ position }, _, cause) => (failure = { at: position - 1, cause }),
  });
  // Behind the cursor there may be more by now.
  const decided = decisions.next === 'more' ? decisions.to : state.cursor;
  const to = failure?.at ?? decided;
  const now = instance.dueClock.now();
  const isStored = await database.write(
    async (tx) => {
      const stored = await readDecisions(tx, tx.names.locks.forUpdate);
      const current = (await endpoints.byOwner(tx)).owned.find((one) => one.number === number);
      const isSame = stored.apart.get(number)?.at === behind.at && stored.reconcile === state.reconcile;
      if (!isSame || current?.updated !== endpoint.updated) return false;
      await storeDecisions(tx, instance, decisions);
      const isThere = to >= (stored.cursor ?? 0);
      const since = behind.since === 0 ? now : behind.since;
      const cause = failure?.cause ?? behind.cause;
      const after = isThere ? { at: undefined, cause: '', since: 0 } : { at: to, cause, since };
      await moveApart(tx, number, after);
      return true;
    },
    { findsByKey: true },
  );
  if (!isStored) return { recipients: new Set(), next: 'again', failed: new Map() };
  const failed = new Map(failure === undefined ? [] : [[number, failure.cause]]);
  const next = failure === undefined ? 'again' : 'nothing';
  return { recipients: recipientsOf(decisions, [endpoint]), next, failed };
}

/**
 * Whether no other step was stored meanwhile, and the endpoints are unchanged; one that is behind may have advanced, as long as it has not
 * caught up. The rows are locked until the transaction ends.
 */
async function isUnchanged(
  tx: Transaction,
  { endpoints }: StepInstance,
  {
    state,
    owned,
  }: { readonly state: DecisionState & { readonly cursor: number }; readonly owned: readonly Endpoint[] },
): Promise<boolean> {
  const stored = await readDecisions(tx, tx.names.locks.forUpdate);
  const { cursor } = state;
  if (stored.cursor !== cursor || stored.reconcile !== state.reconcile) return false;
  for (const number of new Set([...state.apart.keys(), ...stored.apart.keys()])) {
    const [before, after] = [state.apart.get(number)?.at, stored.apart.get(number)?.at];
    const isStillBehind = before !== undefined && after !== undefined && before < cursor && after < cursor;
    if (before !== after && !isStillBehind) return false;
  }
  const current = (await endpoints.byOwner(tx)).owned;
  const updated = new Map(current.map((one) => [one.number, one.updated]));
  return current.length === owned.length && owned.every((one) => updated.get(one.number) === one.updated);
}

interface Decisions {
  readonly pairs: readonly DecidedPair[];
  readonly mirrored: readonly MirroredEvent[];
  /** Whether there are transitions among the events, whose deliveries are read from now on. */
  readonly hasTransitions: boolean;
  /** Up to where the log is decided now. */
  readonly to: number;
  readonly next: 'nothing' | 'more' | 'unsafe';
  /** The records that were deleted, each with the id of its collection. */
  readonly deleted: readonly string[];
}

/** Inserts the deliveries of decided events, and appends the transitions that follow. */
async function storeDecisions(tx: Transaction, instance: StepInstance, decisions: Decisions): Promise<void> {
  const { pairs, mirrored } = decisions;
  await insertDecided(tx, [...pairs, ...(await decideMirrored(tx, instance, mirrored))]);
}

function recipientsOf(
  { pairs, mirrored, hasTransitions }: Decisions,
  owned: readonly Endpoint[],
): ReadonlySet<number> {
  const areMirrors = hasTransitions || mirrored.length > 0;
  const mirrors = owned.flatMap(({ number, transitions }) => (transitions && areMirrors ? [number] : []));
  return new Set([...pairs.map(([, endpoint]) => endpoint), ...mirrors]);
}

interface DecisionRange {
  readonly from: number;
  readonly safe: number;
  readonly endpointsOf: (event: UndecidedEvent) => readonly Endpoint[];
  readonly onFailed: (event: UndecidedEvent, endpoint: number, cause: string) => void;
}

async function decideNext(
  instance: StepInstance,
  { endpointsOf, onFailed, ...range }: DecisionRange,
): Promise<Decisions> {
  const { database, clock } = instance;
  const { events, end, next, hasTransitions } = await readUndecided(database, range);
  const endsAtMs = clock.monotonic() + stepMs;
  const pairs: DecidedPair[] = [];
  const deleted: string[] = [];
  const mirrored: MirroredEvent[] = [];
  for (const event of events) {
    if (event.kind === 'record.delete') deleted.push(`${event.collection}/${event.record}`);
    const { recipients, failed, mirrors } = await decideEvent(instance, endpointsOf(event), event);
    for (const number of recipients) pairs.push([event.position, number]);
    if (mirrors.length > 0) mirrored.push({ event, mirrors });
    for (const [number, cause] of failed) onFailed(event, number, cause);
    if (clock.monotonic() > endsAtMs && event !== events.at(-1))
      return { pairs, mirrored, hasTransitions, to: event.position, next: 'more', deleted };
  }
  return { pairs, mirrored, hasTransitions, to: end, next, deleted };
}

/** Reads the next changes of records behind a position, and the position up to which these are all. */
async function readUndecided(
  reader: Reader,
  { from, safe }: { readonly from: number; readonly safe: number },
): Promise<{
  readonly events: readonly UndecidedEvent[];
  readonly end: number;
  readonly next: Decisions['next'];
  readonly hasTransitions: boolean;
}> {
  const { names } = reader;
  const event = names.table('$event');
  const range = sql`${names.instance.condition} AND position > ${from}`;
  const rows = await reader.tuples(
    foundByKeys(sql`
      WITH next AS MATERIALIZED (
        SELECT position, length(body) AS bytes FROM ${event} WHERE ${range} ORDER BY position${limit(eventsMax)}),
      summed AS (SELECT position, sum(bytes) OVER (ORDER BY position) - bytes AS before FROM next)
      SELECT position, kind, collection, record, revision, hidden, context, body, expunged, (SELECT count(*) FROM next) FROM ${event}
      WHERE ${range} AND position IN (SELECT position FROM summed WHERE before < CAST(${bytesMax} AS bigint)) ORDER BY position`),
  );
  const reached = rows.filter(([position]) => Number(position) <= safe);
  const end = Number(reached.at(-1)?.[0] ?? from);
  const rowCount = Number(rows[0]?.[9] ?? 0);
  const isWhole = rows.length === rowCount && rowCount < eventsMax;
  const next = reached.length < rows.length ? 'unsafe' : isWhole ? 'nothing' : 'more';
  const hasTransitions = reached.some(([, kind]) => isTransition(String(kind)));
  return { events: reached.flatMap(toUndecided), end, next, hasTransitions };
}

/** Who may view a change is unknown once its body was expunged. */
function toUndecided([
  position,
  kind,
  collection,
  record,
  revision,
  hidden,
  context,
  body,
  expunged,
]: Tuple): UndecidedEvent[] {
  const recordKind = recordEventKinds.find((one) => one === kind);
  if (recordKind === undefined || expunged !== null) return [];
  return [
    {
      position: Number(position),
      kind: recordKind,
      collection: String(collection),
      record: String(record),
      revision: Number(revision),
      hidden: typeof hidden === 'string' ? hidden : null,
      context: readContext(context),
      // The column is a BLOB and never null.
      body: body as Uint8Array,
    },
  ];
}
