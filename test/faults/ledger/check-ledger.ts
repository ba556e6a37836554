import { checkReceipts } from './check-receipts.ts';
import { keyOf, type LedgerEndpoint, type LedgerEvent, type LedgerState } from './ledger-state.ts';
import { isMet } from './endpoint-wishes.ts';
import type { EndpointStory } from './owners.ts';
import type { LedgerReceipt } from './receiver-process.ts';
import { eventKey, type LedgerWrite } from './writers.ts';

/** What is known of one instance at the end of a run. */
export interface LedgerEvidence {
  readonly writes: readonly LedgerWrite[];
  /** By the names of their receivers. */
  readonly endpoints: ReadonlyMap<string, EndpointStory>;
  /** Ids of deliveries that somebody asked to cancel. */
  readonly cancelled: ReadonlySet<string>;
  /** In the order of their arrival. */
  readonly receipts: readonly LedgerReceipt[];
  readonly kills: readonly Kill[];
  /** When another node took the instance from one whose lease had run out, in milliseconds since 1970. */
  readonly takeovers: readonly number[];
  readonly stored: LedgerState;
}

/** The death of a server: what had arrived until then, and what was known of it. */
export interface Kill {
  /** So many requests had been received. */
  readonly lines: number;
  /** How many attempts of each delivery were stored, by its id; those that are missing had none. */
  readonly attempts: ReadonlyMap<string, number>;
}

export interface LedgerFigures {
  events: number;
  deliveries: number;
  delivered: number;
  waiting: number;
  exhausted: number;
  cancelled: number;
  attempts: number;
  receipts: number;
  /** Receipts of an attempt that had been received before, as its server had died. */
  duplicates: number;
  /** Attempts that were received and not stored when a server died: so many duplicates there may be. */
  inFlightAtKills: number;
  /** Receipts of an attempt that was sent again as the receiver had closed a used connection. */
  resent: number;
}

export type Report = (text: string) => void;

/** Holds promises 1 to 3 of webhooks.md section 3 against everything that was seen, by ids. */
export function checkLedger(evidence: LedgerEvidence): {
  readonly violations: readonly string[];
  readonly figures: LedgerFigures;
} {
  const violations: string[] = [];
  const report: Report = (text) => void violations.push(text);
  const { stored } = evidence;
  if (stored.integrity !== 'ok') report(`integrity_check: ${stored.integrity}`);
  const writes = checkWrites(evidence, report);
  checkSubscriptions(evidence, writes, report);
  checkBackfills(evidence, writes, report);
  checkCursors(stored, report);
  checkOrders(evidence, report);
  const index = indexOf(evidence);
  const statuses = checkDeliveries(evidence, index, report);
  const counts = checkReceipts(evidence, index, report);
  return { violations, figures: { events: stored.events.length, ...statuses, ...counts } };
}

/** A delivery with all that is stored of it. */
export interface StoredDelivery {
  readonly id: string;
  readonly event: LedgerEvent;
  readonly endpoint: LedgerEndpoint;
  readonly attempts: number;
  /** `pending` also without an outcome. */
  readonly status: string;
  readonly hasOutcome: boolean;
}

export interface LedgerIndex {
  readonly deliveries: ReadonlyMap<string, StoredDelivery>;
  readonly receipts: ReadonlyMap<string, readonly LedgerReceipt[]>;
  /** The position of the last event of a record that an endpoint is told of, by the endpoint's number and the record. */
  readonly laterOf: ReadonlyMap<string, number>;
}

function indexOf({ stored, receipts }: LedgerEvidence): LedgerIndex {
  const events = new Map(stored.events.map((event) => [event.position, event]));
  const endpoints = new Map(stored.endpoints.map((endpoint) => [endpoint.number, endpoint]));
  const deliveries = new Map<string, StoredDelivery>();
  const laterOf = new Map<string, number>();
  for (const delivery of stored.deliveries) {
    const event = events.get(delivery.event);
    const endpoint = endpoints.get(delivery.endpoint);
    // That one is missing is a violation of its own.
    if (event === undefined || endpoint === undefined) continue;
    const last = `${endpoint.number} ${event.record}`;
    laterOf.set(last, Math.max(laterOf.get(last) ?? 0, event.position));
    const outcome = stored.outcomes.get(keyOf(delivery));
    const id = `${event.id}-${endpoint.id}`;
    const status = outcome?.status ?? gapStatus(stored, delivery) ?? 'pending';
    deliveries.set(id, {
      id,
      event,
      endpoint,
      attempts: outcome?.attempts ?? 0,
      status,
      hasOutcome: outcome !== undefined,
    });
  }
  return { deliveries, receipts: Map.groupBy(receipts, ({ delivery }) => delivery), laterOf };
}

function gapStatus({ gaps }: LedgerState, delivery: { readonly event: number; readonly endpoint: number }) {
  const { event, endpoint } = delivery;
  return gaps.find((gap) => gap.endpoint === endpoint && gap.first <= event && gap.last >= event)?.status;
}

/** Everything acknowledged is there, nothing refused is, and each event is of one write. Returns the writes by the keys of their events. */
function checkWrites({ writes, stored }: LedgerEvidence, report: Report): ReadonlyMap<string, LedgerWrite> {
  const byKey = new Map(writes.map((write) => [write.key, write]));
  const changes = stored.events.filter(({ kind }) => kind.startsWith('record.'));
  const events = Map.groupBy(changes, eventKey);
  for (const [key, its] of events) {
    if (its.length > 1)
      report(`write ${key} has ${its.length} events: ${its.map(({ id }) => id).join(', ')}`);
    if (!byKey.has(key)) report(`event ${its[0]?.id} is of ${key}, which nobody wrote`);
  }
  const deleted = new Set(writes.flatMap(({ kind, record }) => (kind === 'delete' ? [record] : [])));
  for (const { key, kind, record, outcome, status } of writes) {
    if (outcome === 'refused') report(`write ${key} was refused with ${status}`);
    if (outcome === 'refused' && events.has(key)) report(`write ${key} was refused and has an event`);
    if (outcome !== 'acknowledged') continue;
    if (!events.has(key)) report(`write ${key} was acknowledged and has no event`);
    const isThere = stored.records.has(record);
    if (kind === 'delete' && isThere) report(`record ${record} is there, and its deletion was acknowledged`);
    if (kind === 'create' && !isThere && !deleted.has(record))
      report(`record ${record} was acknowledged and is lost`);
  }
  return byKey;
}

/** Every event has a delivery for each endpoint that was subscribed when it happened and whose filter it meets, and for no other. */
function checkSubscriptions(
  { endpoints, stored }: LedgerEvidence,
  writes: ReadonlyMap<string, LedgerWrite>,
  report: Report,
): void {
  const has = new Set(stored.deliveries.map(keyOf));
  const numbers = new Set(stored.endpoints.map(({ number }) => number));
  const positions = new Set(stored.events.map(({ position }) => position));
  for (const delivery of stored.deliveries) {
    if (!numbers.has(delivery.endpoint)) report(`delivery ${keyOf(delivery)} has no endpoint`);
    if (!positions.has(delivery.event)) report(`delivery ${keyOf(delivery)} has no event`);
  }
  for (const endpoint of stored.endpoints) {
    const story = endpoints.get(endpoint.receiver);
    if (story === undefined) {
      report(`endpoint ${endpoint.id} was made by nobody`);
      continue;
    }
    for (const event of stored.events) {
      if (!event.kind.startsWith('record.')) continue;
      const write = writes.get(eventKey(event));
      if (write === undefined) continue;
      const wanted = isMet(story.wishes, event) ? isSubscribed(story, write) : 'no';
      const isTold = has.has(keyOf({ event: event.position, endpoint: endpoint.number }));
      if (wanted === 'yes' && !isTold) report(`event ${event.id} has no delivery for ${endpoint.id}`);
      if (wanted === 'no' && isTold)
        report(`event ${event.id} has a delivery for ${endpoint.id}, which was not there or did not want it`);
    }
  }
}

/** A backfill tells its one endpoint of each record once, as somebody has written it, and only of what meets the filter. */
function checkBackfills(
  { endpoints, stored }: LedgerEvidence,
  writes: ReadonlyMap<string, LedgerWrite>,
  report: Report,
): void {
  const toldBy = Map.groupBy(stored.deliveries, ({ event }) => event);
  const told = new Set<string>();
  for (const event of stored.events) {
    if (event.backfill === '') continue;
    const [delivery, ...others] = toldBy.get(event.position) ?? [];
    const endpoint = stored.endpoints.find(({ number }) => number === delivery?.endpoint);
    const wishes = endpoints.get(endpoint?.receiver ?? '')?.wishes;
    if (endpoint === undefined || others.length > 0)
      report(`event ${event.id} of a backfill is told to ${others.length + 1}`);
    else if (wishes !== undefined && !isMet(wishes, event))
      report(`event ${event.id} of a backfill does not meet the filter of ${endpoint.id}`);
    if (!writes.has(event.title))
      report(`event ${event.id} of a backfill is of ${event.title}, which nobody wrote`);
    const key = `${event.backfill} ${event.record}`;
    if (told.has(key)) report(`the backfill ${event.backfill} tells twice of ${event.record}`);
    told.add(key);
  }
}

/** `perhaps`: both were under way at the same time, or it is not known when one of them happened. */
function isSubscribed({ created, deleted }: EndpointStory, write: LedgerWrite): 'yes' | 'no' | 'perhaps' {
  const isAnswered = write.outcome === 'acknowledged';
  if (isAnswered && write.endMs < created.startMs) return 'no';
  if (deleted?.outcome === 'acknowledged' && write.startMs > deleted.endMs) return 'no';
  const isAfter = created.outcome === 'acknowledged' && write.startMs > created.endMs;
  const isBefore = deleted === undefined || (isAnswered && write.endMs < deleted.startMs);
  return isAfter && isBefore ? 'yes' : 'perhaps';
}

/** No lane has passed over a delivery that still waits without an outcome: it would never be sent. */
export function checkCursors(stored: LedgerState, report: Report): void {
  for (const delivery of stored.deliveries) {
    const cursor = stored.lanes.get(delivery.endpoint)?.cursor;
    if (cursor === undefined || delivery.event > cursor || stored.outcomes.has(keyOf(delivery))) continue;
    if (gapStatus(stored, delivery) === undefined)
      report(`lane ${delivery.endpoint} has passed over event ${delivery.event}: its cursor is ${cursor}`);
  }
}

/** Endpoints are as their owner was told that they are. */
function checkOrders({ endpoints, stored }: LedgerEvidence, report: Report): void {
  const byReceiver = new Map(stored.endpoints.map((endpoint) => [endpoint.receiver, endpoint]));
  for (const [receiver, story] of endpoints) {
    const endpoint = byReceiver.get(receiver);
    if (endpoint === undefined) {
      if (story.created.outcome === 'acknowledged')
        report(`endpoint ${receiver} was acknowledged and is lost`);
      continue;
    }
    const { deleted, status } = story;
    if (deleted === undefined && endpoint.isDeleted) report(`endpoint ${receiver} was deleted by nobody`);
    if (deleted?.outcome === 'acknowledged' && !endpoint.isDeleted)
      report(`endpoint ${receiver} is there, and its deletion was acknowledged`);
    if (deleted !== undefined || status === 'unknown' || endpoint.status === status) continue;
    if (!story.mayPauseItself || status !== 'active')
      report(`endpoint ${receiver} is ${endpoint.status}, and was acknowledged as ${status}`);
  }
}

type Statuses = Pick<
  LedgerFigures,
  'deliveries' | 'delivered' | 'waiting' | 'exhausted' | 'cancelled' | 'attempts'
>;

/** Each delivery is over for a reason, or waits for one; and its attempts are those that it counts. */
function checkDeliveries(evidence: LedgerEvidence, index: LedgerIndex, report: Report): Statuses {
  const { stored } = evidence;
  const attempts = Map.groupBy(stored.attempts, keyOf);
  const counts = { delivered: 0, waiting: 0, exhausted: 0, cancelled: 0 };
  for (const delivery of index.deliveries.values()) {
    const { id, event, endpoint } = delivery;
    const its = attempts.get(keyOf({ event: event.position, endpoint: endpoint.number })) ?? [];
    const numbers = its.map(({ number }) => number).toSorted((a, b) => a - b);
    if (numbers.length !== delivery.attempts || numbers.some((number, place) => number !== place + 1))
      report(`delivery ${id} counts ${delivery.attempts} attempts, and has ${numbers.join(', ') || 'none'}`);
    const what = settledAs(delivery, evidence, index);
    if (what === undefined) report(`delivery ${id} is ${delivery.status}, and nothing explains it`);
    else counts[what] += 1;
    if (what !== 'delivered') continue;
    if (!its.some(({ kind }) => kind === 'success')) report(`delivery ${id} is delivered without an attempt`);
    const isReceived = index.receipts
      .get(id)
      ?.some(({ answer, isVerified }) => answer === 'success' && isVerified);
    if (isReceived !== true) report(`delivery ${id} is delivered, and no receiver has taken it`);
  }
  return { deliveries: stored.deliveries.length, ...counts, attempts: stored.attempts.length };
}

function settledAs(
  delivery: StoredDelivery,
  { endpoints, cancelled }: LedgerEvidence,
  index: LedgerIndex,
): 'delivered' | 'waiting' | 'exhausted' | 'cancelled' | undefined {
  const { id, endpoint, status, attempts, hasOutcome } = delivery;
  const { isSkipped = false, wishes } = endpoints.get(endpoint.receiver) ?? {};
  switch (status) {
    case 'delivered':
      return 'delivered';
    case 'exhausted':
      return attempts >= endpoint.attemptsMax ? 'exhausted' : undefined;
    case 'cancelled':
      if (endpoint.isDeleted || isSkipped || cancelled.has(id)) return 'cancelled';
      return wishes?.coalesce === true && hasLater(delivery, index) ? 'cancelled' : undefined;
    case 'pending':
      // What has failed, or was handed over, for an endpoint that was deleted since is as good as cancelled; what was never sent lies in a gap.
      if (endpoint.isDeleted) return hasOutcome ? 'cancelled' : undefined;
      return endpoint.status === 'active' ? undefined : 'waiting';
    default:
      return undefined;
  }
}

/** Whether the endpoint was told of a later change of the record. */
function hasLater({ event, endpoint }: StoredDelivery, { laterOf }: LedgerIndex): boolean {
  return (laterOf.get(`${endpoint.number} ${event.record}`) ?? 0) > event.position;
}
