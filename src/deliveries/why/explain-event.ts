import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Caller, hasScope, reaches } from '../../access/caller.ts';
import type { Clock } from '../../base/clock.ts';
import { notFound } from '../../base/errors.ts';
import { type EventKind, isOperational } from '../../events/event.ts';
import { findEvent } from '../../events/find-event.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import { parameterError } from '../../query/list-parameters.ts';
import type { ListQuery } from '../../query/list-query.ts';
import { cursorsOfList } from '../../secrets/seal-position.ts';
import { sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import { countDeliveredToday } from '../endpoint-hours.ts';
import { type DecisionState, readDecisions } from '../decision-cursor.ts';
import { deliveryId } from '../deliveries.ts';
import { ownerDeletedReason } from '../endpoints/pause-orphans.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import type { Collection } from '../../collections/collection.ts';
import { hasConditions } from '../../endpoints/endpoint-conditions.ts';
import { type DeliveryOutcome, readOutcomesOf } from '../log/delivery-log.ts';
import { readChanges } from '../log/logged-changes.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { type EndpointChanges, noChanges, readEndpointChanges } from './endpoint-changes.ts';
import type { ChangeQuery, TimeBudget } from './change-query.ts';
import { explainConditions, type Verdict } from './explain-conditions.ts';
import {
  type ChangedMember,
  changedMembers,
  type DenyingRule,
  type ExplainedEvent,
  type Explanation,
  messageOf,
  type Reason,
  reasonOfSettings,
} from './explanation.ts';
import { readSentTransitions, type SentTransition } from './sent-transitions.ts';

/** Endpoints of one statement. */
const togetherMax = 32;
/** The time of a response. When it is used up, the page ends. */
const answerMs = 2_000;
/** The length at which a page ends. */
const answerLengthMax = 1024 * 1024;
/** How far the clocks of nodes may be apart. */
const apartMs = 5_000;

export interface ExplanationRequest {
  readonly caller: Caller;
  /** The id of the only endpoint to explain; null for all. */
  readonly endpoint: string | null;
  readonly query: Pick<ListQuery, 'perPage' | 'cursor'>;
}

export interface ExplanationPage {
  readonly items: readonly Explanation[];
  readonly perPage: number;
  /** Null at the end. */
  readonly nextCursor: string | null;
}

/** An endpoint, or the row of a deleted one, with its delivery of the event. */
interface Subject {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  /** Undefined when it was deleted. */
  readonly endpoint: Endpoint | undefined;
  readonly outcome: DeliveryOutcome | undefined;
}

/**
 * Explains why endpoints were sent an event, or were not, in the order of their creation. A page may be short where
 * filters take long. Throws not_found, and bad_request for a cursor of another list.
 */
export async function explainEvent(
  instance: WebhookInstance,
  id: string,
  request: ExplanationRequest,
): Promise<ExplanationPage> {
  const { database, clock, sealer } = instance;
  const budget = timeBudget(clock, answerMs);
  const event = await readEvent(database, id);
  const cursors = cursorsOfList(sealer, ['why', id, request.endpoint]);
  const { perPage, cursor = '' } = request.query;
  const opened = cursor === '' ? '0' : cursors.open(cursor);
  if (opened === undefined) throw parameterError('cursor', 'Expected a cursor of this list.');
  const all = await findSubjects(instance, event, request.endpoint);
  const rest = all.filter(({ number }) => number > Number(opened));
  const page = rest.slice(0, perPage);
  const explaining = await startExplaining(instance, { event, page, caller: request.caller, budget });
  const items: Explanation[] = [];
  let length = 0;
  for (let at = 0; at < page.length; at += togetherMax) {
    if (at > 0 && (budget.leftMs() <= 0 || length > answerLengthMax)) break;
    const explained = await explainSome(explaining, page.slice(at, at + togetherMax));
    for (const one of explained) length += JSON.stringify(one).length;
    items.push(...explained);
    await nextTurn();
  }
  const last = rest[items.length - 1];
  const isEnd = items.length === rest.length || last === undefined;
  return { items, perPage, nextCursor: isEnd ? null : cursors.seal(String(last.number)) };
}

function timeBudget(clock: Clock, ms: number): TimeBudget {
  const end = clock.monotonic() + ms;
  return { leftMs: () => end - clock.monotonic() };
}

async function readEvent(reader: Reader, id: string): Promise<ExplainedEvent> {
  const { names } = reader;
  const position = await findEvent(reader, id);
  const [row] =
    position === undefined
      ? []
      : await reader.tuples(sql`
          SELECT kind, collection, record, created, expunged FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position = ${position}`);
  if (row === undefined || position === undefined) throw notFound();
  const [kind, collection, record, created, expunged] = row;
  return {
    position,
    id,
    kind: String(kind) as EventKind, // The log has no others.
    collection: String(collection),
    record: String(record),
    created: String(created),
    isExpunged: expunged !== null,
  };
}

/** Returns all endpoints, and those deleted ones that have a delivery. Throws not_found where the requested one never existed. */
async function findSubjects(
  { database, endpoints }: WebhookInstance,
  event: ExplainedEvent,
  only: string | null,
): Promise<readonly Subject[]> {
  const living = (await endpoints.all(database)).filter(({ id }) => only === null || id === only);
  const outcomes = await readOutcomesOf(database, event.position);
  const numbers = new Set(living.map(({ number }) => number));
  const subjects: Subject[] = living.map((endpoint) => {
    const { number, id, name } = endpoint;
    return { number, id, name, endpoint, outcome: outcomes.get(number) };
  });
  const { names } = database;
  const table = names.table('$endpoint');
  const others = only === null ? [...outcomes.keys()].filter((number) => !numbers.has(number)) : [];
  const which = only === null ? sql`position${names.anyNumberOf(others)}` : sql`id = ${only}`;
  const rows =
    only === null && others.length === 0
      ? []
      : await database.tuples(
          sql`SELECT position, id, name FROM ${table} WHERE ${names.instance.condition} AND deleted <> '' AND ${which}`,
        );
  for (const [number, id, name] of rows) {
    const outcome = outcomes.get(Number(number));
    subjects.push({
      number: Number(number),
      id: String(id),
      name: String(name),
      endpoint: undefined,
      outcome,
    });
  }
  if (only !== null && subjects.length === 0) throw notFound();
  return subjects.toSorted((a, b) => a.number - b.number);
}

interface Explaining {
  readonly event: ExplainedEvent;
  /** Whether deliveries wait because the quota of the day is used up. */
  readonly isQuotaUsedUp: boolean;
  readonly decisions: DecisionState;
  readonly changes: EndpointChanges;
  /** By the numbers of endpoints without a delivery. */
  readonly transitions: ReadonlyMap<number, SentTransition>;
  /** The rule by which owners view the record. */
  readonly rule: DenyingRule | null;
  /** Undefined where conditions cannot be evaluated for the event. */
  readonly query: ChangeQuery | undefined;
}

/** Reads what the explanations of a page need together. */
async function startExplaining(
  instance: WebhookInstance,
  {
    event,
    page,
    caller,
    budget,
  }: {
    readonly event: ExplainedEvent;
    readonly page: readonly Subject[];
    readonly caller: Caller;
    readonly budget: TimeBudget;
  },
): Promise<Explaining> {
  const { database, collections } = instance;
  const withoutDelivery = page.flatMap(({ endpoint, outcome }) =>
    endpoint === undefined || outcome !== undefined ? [] : [endpoint],
  );
  const wereChanged = withoutDelivery.some(
    ({ created, updated }) => updated > created && updated > event.created,
  );
  const changes = wereChanged ? await readEndpointChanges(database, event.created) : noChanges;
  const decisions = await readDecisions(database);
  const collection = collections.find(event.collection);
  const isConditional = !event.isExpunged && collection !== undefined && withoutDelivery.some(hasConditions);
  const [change] = isConditional ? await readChanges(database, collection, [event.position]) : [];
  const query =
    collection === undefined || change === undefined
      ? undefined
      : { database, collections, collection, change, caller, budget };
  const isQuotaUsedUp = page.some(isWaiting) && (await isDayUsedUp(instance));
  const isMirrored = withoutDelivery.some((endpoint) => endpoint.transitions);
  const transitions = isMirrored ? await readSentTransitions(database, event) : new Map();
  const rule = collection === undefined ? null : viewRuleFor(caller, collection);
  return { event, isQuotaUsedUp, decisions, changes, transitions, rule, query };
}

/** Returns the view rule of a collection, without its text where the caller could not read it in the definition. */
function viewRuleFor(caller: Caller, collection: Collection): DenyingRule {
  const isHidden = !hasScope(caller, 'collections:read') || !reaches(caller, collection);
  const text = isHidden ? '' : (collection.rules.viewRule ?? null);
  return { collection: collection.name, name: 'viewRule', text, isHidden };
}

/** Whether as much was delivered today as the quota of the instance allows. */
async function isDayUsedUp({ database, quotas, dueClock }: WebhookInstance): Promise<boolean> {
  const max = quotas().deliveriesPerDay;
  return max !== undefined && (await countDeliveredToday(database, dueClock.now())) >= max;
}

async function explainSome(
  explaining: Explaining,
  subjects: readonly Subject[],
): Promise<readonly Explanation[]> {
  const { event, isQuotaUsedUp, decisions, query } = explaining;
  const bySettings = new Map<Subject, Reason>();
  const open: Endpoint[] = [];
  for (const subject of subjects) {
    const { endpoint, number } = subject;
    const undecidedAfter = decisions.apart.get(number)?.at ?? decisions.cursor;
    const reason =
      sentReason(subject, isQuotaUsedUp) ??
      (explaining.transitions.has(number) ? 'transition' : undefined) ??
      (endpoint === undefined ? 'deleted' : reasonOfSettings(endpoint, event, { undecidedAfter }));
    if (reason !== undefined) bySettings.set(subject, reason);
    else if (endpoint !== undefined) open.push(endpoint);
  }
  const verdicts =
    query === undefined || isOperational(event.kind) ? new Map() : await explainConditions(query, open);
  return subjects.map((subject) => {
    const reason = bySettings.get(subject);
    const verdict: Verdict =
      reason === undefined
        ? verdictOf(explaining, subject.endpoint, verdicts)
        : { reason, isOfNow: false, comparisons: [] };
    return toExplanation(explaining, subject, verdict);
  });
}

function sentReason(subject: Subject, isQuotaUsedUp: boolean): Reason | undefined {
  const { endpoint, outcome } = subject;
  if (outcome === undefined) return undefined;
  if (endpoint === undefined || !isWaiting(subject)) return 'sent';
  if (endpoint.status !== 'active') return endpoint.status;
  return isQuotaUsedUp ? 'quota' : 'sent';
}

function isWaiting({ endpoint, outcome }: Subject): boolean {
  return outcome?.status === 'pending' && endpoint !== undefined;
}

function verdictOf(
  { event, query }: Explaining,
  endpoint: Endpoint | undefined,
  verdicts: ReadonlyMap<Endpoint, Verdict>,
): Verdict {
  const verdict = endpoint && verdicts.get(endpoint);
  if (verdict?.reason === 'owner' && endpoint?.statusReason === ownerDeletedReason)
    return { ...verdict, reason: 'owner-deleted' };
  if (verdict !== undefined) return verdict;
  const isConditional = endpoint !== undefined && hasConditions(endpoint) && !isOperational(event.kind);
  const cannotAsk = event.isExpunged ? 'expunged' : 'collection-deleted';
  return {
    reason: isConditional && query === undefined ? cannotAsk : undefined,
    isOfNow: false,
    comparisons: [],
  };
}

function toExplanation(
  { event, changes, transitions, query, rule }: Explaining,
  { id, name, number, endpoint, outcome: ofEvent }: Subject,
  { reason: found, isOfNow, comparisons }: Verdict,
): Explanation {
  const transition = ofEvent === undefined ? transitions.get(number) : undefined;
  const outcome = ofEvent ?? transition?.outcome;
  const changed = endpoint === undefined || outcome !== undefined ? [] : changedOf(endpoint, event, changes);
  const reason = found ?? reasonIfMet(event, endpoint, { changed, isOfNow });
  const isByConditions = ['filter', 'owner', 'owner-deleted', 'related-changed', 'unknown'].includes(reason);
  return {
    endpoint: id,
    name,
    status: endpoint?.status ?? 'deleted',
    isSent: outcome !== undefined,
    reason,
    message: messageOf(reason),
    delivery: outcome === undefined ? '' : deliveryId(transition?.id ?? event.id, id),
    deliveryStatus: outcome?.status ?? '',
    changed,
    isOfNow,
    isWhole: !isByConditions || (query?.change.isWhole ?? true),
    comparisons,
    rule: reason === 'owner' ? rule : null,
  };
}

/** Returns the reason why an endpoint was not sent what it would be sent now. */
function reasonIfMet(
  event: ExplainedEvent,
  endpoint: Endpoint | undefined,
  { changed, isOfNow }: { readonly changed: readonly ChangedMember[] | null; readonly isOfNow: boolean },
): Reason {
  if (changed === null || changed.length > 0) return 'changed';
  if (isOfNow) return 'related-changed';
  // One without conditions that existed always gets a delivery, by whichever node.
  const wasMadeThen =
    endpoint !== undefined &&
    !hasConditions(endpoint) &&
    fromTimestamp(endpoint.created) > fromTimestamp(event.created) - apartMs;
  return wasMadeThen ? 'made-later' : 'unknown';
}

function changedOf(
  { id, created, updated }: Endpoint,
  event: ExplainedEvent,
  { members, isWhole }: EndpointChanges,
): readonly ChangedMember[] | null {
  if (updated === created || updated <= event.created) return [];
  const changed = members.get(id);
  if (changed !== undefined) return changedMembers.filter((name) => changed.has(name));
  return isWhole ? [] : null;
}
