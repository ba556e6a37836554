import type { ConditionAnswers } from '../endpoints/endpoint-conditions.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { dropRecords, type HeldKey, holdRecords } from '../endpoints/held-records.ts';
import type { EventKind, NewEvent, RecordChange, TransitionKind } from '../events/event.ts';
import type { Transaction } from '../storage/database.ts';

/**
 * What a change is for an endpoint with transitions. It follows from whether the record matches the endpoint's conditions now, and whether
 * the endpoint holds it, that is, was sent it and not told to delete it (endpoints/held-records.ts). No earlier state has to be evaluated:
 *
 *   matches now │ holds it │
 *   ────────────┼──────────┼─ enter, or the change itself where it creates the record
 *        yes    │    no    │
 *        yes    │    yes   │  the change itself
 *        no     │    yes   │  leave
 *        no     │    no    │  nothing
 *   deleted     │    yes   │  the change itself, whether it matched at the end or not
 *   deleted     │    no    │  nothing
 *
 * So a receiver that applies what it gets always has exactly the records that match. What changes without a change of the record is found by
 * a reconcile (replays/reconciles.ts).
 *
 * A record that an endpoint holds has been sent to it as it was before the change: each change of it was sent, or has dropped its key. So the
 * state before a leave is one that the receiver has.
 */
export type Transition = 'change' | TransitionKind | undefined;

export function transitionOf(
  kind: EventKind,
  { isMatch, isHeld }: { readonly isMatch: boolean; readonly isHeld: boolean },
): Transition {
  if (kind === 'record.delete') return isHeld ? 'change' : undefined;
  if (isMatch) return isHeld || kind === 'record.create' ? 'change' : 'enter';
  return isHeld ? 'leave' : undefined;
}

/** The numbers of endpoints by what becomes of the record there. */
export interface Moves {
  /** Those that get the record by a change of it or by an enter, and hold it from now on. */
  readonly added: readonly number[];
  readonly dropped: readonly number[];
  readonly enters: readonly number[];
  readonly leaves: readonly number[];
}

/** Returns the endpoints that are sent a change itself, and those for which it is a transition. */
export function decideTransitions(
  endpoints: readonly Pick<Endpoint, 'number' | 'transitions'>[],
  kind: EventKind,
  { matches, holders }: ConditionAnswers,
): Moves & { readonly recipients: readonly number[] } {
  // Filled below.
  const result = { recipients: [], added: [], dropped: [], enters: [], leaves: [] } as {
    readonly [Name in keyof Moves | 'recipients']: number[];
  };
  for (const { number, transitions } of endpoints) {
    const isMatch = matches.includes(number);
    if (!transitions) {
      if (isMatch) result.recipients.push(number);
      continue;
    }
    const isHeld = holders.includes(number);
    const transition = transitionOf(kind, { isMatch, isHeld });
    if (transition === 'change') result.recipients.push(number);
    if (transition === 'enter') result.enters.push(number);
    if (transition === 'leave') result.leaves.push(number);
    const isHeldAfter = transition !== undefined && transition !== 'leave' && kind !== 'record.delete';
    // A key of a record that is made again may be dropped at this moment, as that of one that is gone.
    if (isHeldAfter && (!isHeld || kind === 'record.create')) result.added.push(number);
    if (!isHeldAfter && isHeld) result.dropped.push(number);
  }
  return result;
}

/** Stores what endpoints hold after a change. */
export async function storeMoves(
  tx: Transaction,
  { collection, record }: Pick<NewEvent, 'collection' | 'record'>,
  { added, dropped }: Pick<Moves, 'added' | 'dropped'>,
): Promise<void> {
  const keyOf = (endpoint: number): HeldKey => ({ endpoint, collection, record });
  await holdRecords(tx, added.map(keyOf));
  await dropRecords(tx, dropped.map(keyOf));
}

/** Returns the events of the transitions of a change: one for all endpoints that the record enters, and one for those that it leaves. */
export function transitionsOf(
  { context, ...event }: NewEvent,
  { beforeJson }: RecordChange,
  { enters, leaves }: Pick<Moves, 'enters' | 'leaves'>,
): readonly NewEvent[] {
  const { actor = 'service', hops = 1 } = context ?? {};
  const common = { ...event, context: { actor, hops } };
  const events: NewEvent[] = [];
  if (enters.length > 0) events.push({ ...common, kind: 'enter', recipients: enters });
  if (leaves.length === 0) return events;
  // The hidden fields are those after the change.
  const { hiddenJson: _, ...visible } = common;
  return [
    ...events,
    {
      ...visible,
      kind: 'leave',
      dataJson: beforeJson?.() ?? JSON.stringify({ id: event.record }),
      recipients: leaves,
    },
  ];
}
