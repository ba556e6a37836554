import type { Journal, Receipt } from './journal.ts';
import type { StoredEvent, StoredRecord, StoredState } from './stored-state.ts';
import { textOf, type Change, type RecordStory } from './workload.ts';

/** What was on the disk when a life of the server had ended. */
export interface LifeEnd {
  readonly life: number;
  /** Ids of deliveries that no committed row called finished. */
  readonly pending: ReadonlySet<string>;
}

export interface RunEvidence {
  readonly stories: readonly RecordStory[];
  readonly journal: Journal;
  readonly lives: readonly LifeEnd[];
  /** When another node took the instance from one that had not renewed its lease in time, in milliseconds since 1970. */
  readonly takeovers: readonly number[];
  /** Of the file, after the last life has stopped. */
  readonly stored: StoredState;
  /** Read over HTTP in the last life. */
  readonly records: readonly Pick<StoredRecord, 'id' | 'title' | 'body'>[];
}

export interface RunFindings {
  readonly violations: readonly string[];
  /** Deliveries that a receiver got more than once. */
  readonly duplicates: number;
  /** Changes without an answer, by what came of them: a run without both has not tried hard enough. */
  readonly unknownKept: number;
  readonly unknownLost: number;
  readonly acknowledged: number;
}

/** Attempts that the dispatcher may have in flight over all instances (src/dispatch/dispatcher.ts). */
const inFlightMax = 256;
/** For so long a request may be on its way: the standard `timeoutMs` of an endpoint. */
const attemptMsMax = 15_000;

/** The promises of webhooks.md section 3 and of the database's port, held against everything that was seen. */
export function checkRun(evidence: RunEvidence): RunFindings {
  const violations = [...evidence.journal.violations];
  const report = (text: string): void => void violations.push(text);
  const { stored, stories } = evidence;
  if (stored.integrity !== 'ok') report(`integrity_check: ${stored.integrity}`);
  if (stored.foreignKeyBreaches > 0) report(`foreign_key_check: ${stored.foreignKeyBreaches} breaches`);
  checkRecords(evidence, report);
  const eventsByRecord = Map.groupBy(stored.events, (event) => event.record);
  const known = new Set(stories.map((story) => story.id));
  for (const id of eventsByRecord.keys()) if (!known.has(id)) report(`an event of ${id}, which nobody wrote`);
  const outcomes = { unknownKept: 0, unknownLost: 0, acknowledged: 0 };
  for (const story of stories) {
    const events = (eventsByRecord.get(story.id) ?? []).toSorted((a, b) => a.revision - b.revision);
    checkStory(story, events, report);
    checkFinalState(story, events, { stored, report });
    countOutcomes(story, events, outcomes);
  }
  const duplicates = checkDeliveries(evidence, report);
  return { violations, duplicates, ...outcomes };
}

type Report = (text: string) => void;

/** What is read over HTTP is what is stored, each record once and whole. */
function checkRecords({ stored, records }: RunEvidence, report: Report): void {
  const byId = new Map(records.map((record) => [record.id, record]));
  if (byId.size !== records.length) report('a record is listed more than once');
  if (byId.size !== stored.records.length)
    report(`${byId.size} records are listed, ${stored.records.length} are stored`);
  for (const { id, title, body } of stored.records) {
    const listed = byId.get(id);
    if (listed?.title !== title || listed.body !== body)
      report(`${id} is listed otherwise than it is stored`);
    if (body !== textOf(title)) report(`${id} holds a body that does not belong to its title`);
  }
}

/** The log of a record is its changes in order: all that were acknowledged, none that was refused, revisions 1, 2, 3 … */
function checkStory(story: RecordStory, events: readonly StoredEvent[], report: Report): void {
  for (const [index, event] of events.entries()) {
    if (event.revision !== index + 1) report(`${story.id}: revision ${event.revision} at place ${index + 1}`);
  }
  let at = 0;
  for (const change of story.changes) {
    if (change.outcome === 'refused') report(`${story.id}: ${change.kind} was refused with ${change.status}`);
    const event = events[at];
    if (event !== undefined && isOf(event, change, story)) {
      at += 1;
      // What could not be done now (http-api.md, part A): only a 500, or no answer at all, leaves that open.
      if (change.status === 503)
        report(`${story.id}: ${change.kind} ${change.token} was done and answered with 503`);
    } else if (change.outcome === 'acknowledged')
      report(`${story.id}: ${change.kind} ${change.token} is lost`);
  }
  if (at < events.length) report(`${story.id}: ${events.length - at} events that no change explains`);
}

/** A deletion carries the last state, so its event is known by its kind alone. */
function isOf(event: StoredEvent, change: Change, story: RecordStory): boolean {
  if (event.kind !== `record.${change.kind}`) return false;
  return change.kind === 'delete' ? change === story.changes.at(-1) : event.title === change.token;
}

function checkFinalState(
  story: RecordStory,
  events: readonly StoredEvent[],
  { stored, report }: { readonly stored: StoredState; readonly report: Report },
): void {
  const record = recordsById(stored).get(story.id);
  const last = events.at(-1);
  if (last === undefined || last.kind === 'record.delete') {
    if (record !== undefined) report(`${story.id} is there, and its events say that it is not`);
  } else if (record === undefined) report(`${story.id} is gone, and its events say that it is there`);
  else if (record.title !== last.title || record.revision !== last.revision)
    report(`${story.id} is not as its last event tells`);
}

const indexes = new WeakMap<StoredState, ReadonlyMap<string, StoredRecord>>();

function recordsById(stored: StoredState): ReadonlyMap<string, StoredRecord> {
  const known = indexes.get(stored) ?? new Map(stored.records.map((record) => [record.id, record]));
  indexes.set(stored, known);
  return known;
}

function countOutcomes(
  story: RecordStory,
  events: readonly StoredEvent[],
  outcomes: { unknownKept: number; unknownLost: number; acknowledged: number },
): void {
  for (const change of story.changes) {
    if (change.outcome === 'acknowledged') outcomes.acknowledged += 1;
    if (change.outcome !== 'unknown') continue;
    if (events.some((event) => isOf(event, change, story))) outcomes.unknownKept += 1;
    else outcomes.unknownLost += 1;
  }
}

/** Every event reached every endpoint with its bytes, nothing else did, and nothing came twice without a reason. */
function checkDeliveries(evidence: RunEvidence, report: Report): number {
  const { stored, journal, lives } = evidence;
  const receiptsByDelivery = Map.groupBy(journal.receipts, (receipt) => receipt.delivery);
  const eventsByPosition = new Map(stored.events.map((event) => [event.position, event]));
  for (const [id, { status, event: position }] of stored.deliveries) {
    if (status !== 'delivered') report(`delivery ${id} is ${status}`);
    const event = eventsByPosition.get(position);
    const receipts = receiptsByDelivery.get(id) ?? [];
    if (event === undefined) report(`delivery ${id} has no event`);
    else if (receipts.length === 0) report(`delivery ${id} never arrived`);
    else checkReceipts(event, receipts, report);
  }
  if (stored.deliveries.size !== stored.events.length * journal.secrets.size) {
    report(
      `${stored.events.length} events for ${journal.secrets.size} endpoints have ${stored.deliveries.size} deliveries`,
    );
  }
  for (const id of receiptsByDelivery.keys())
    if (!stored.deliveries.has(id)) report(`${id} arrived, and no such delivery was committed`);
  const duplicates = [...receiptsByDelivery.values()].filter((receipts) => receipts.length > 1);
  for (const receipts of duplicates) checkDuplicate(receipts, evidence, report);
  for (const { life, pending } of lives) {
    const inFlight = journal.receipts.filter(
      (receipt) => receipt.life === life && pending.has(receipt.delivery),
    );
    if (inFlight.length > inFlightMax)
      report(`${inFlight.length} deliveries were in flight when life ${life} ended`);
  }
  return duplicates.length;
}

function checkReceipts(event: StoredEvent, receipts: readonly Receipt[], report: Report): void {
  for (const { delivery, eventId, sequence, digest } of receipts) {
    if (eventId !== event.id) report(`${delivery}: webhook-id is ${eventId} and not ${event.id}`);
    if (sequence !== event.revision) report(`${delivery}: sequence is ${sequence} and not ${event.revision}`);
    if (digest !== event.digest) report(`${delivery}: the bytes differ from those of the event`);
  }
}

/**
 * A second time is right only when the life of the first had ended before its outcome was on the disk, or when its node had lost the
 * instance before: a machine that stands still for longer than a lease cannot store what came of its attempts.
 */
export function checkDuplicate(
  receipts: readonly Receipt[],
  { lives, takeovers }: Pick<RunEvidence, 'lives' | 'takeovers'>,
  report: Report,
): void {
  for (const [index, receipt] of receipts.entries()) {
    const before = receipts[index - 1];
    if (before === undefined) continue;
    // The request of the node before may be the later one to arrive.
    const isTakenOver = takeovers.some((atMs) => atMs > before.atMs - attemptMsMax && atMs <= receipt.atMs);
    if (isTakenOver) continue;
    if (before.life === receipt.life) {
      report(`${receipt.delivery} arrived twice in one life of the server`);
      continue;
    }
    const between = lives.filter(({ life }) => life >= before.life && life < receipt.life);
    if (!between.every(({ pending }) => pending.has(receipt.delivery)))
      report(`${receipt.delivery} arrived again after it was settled`);
  }
}
