import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../base/errors.ts';
import type { Collection } from '../../collections/collection.ts';
import type { EventContext } from '../../events/event-context.ts';
import { eventValues } from '../../events/event-values.ts';
import type { StoredValue } from '../../fields/field-type.ts';
import { fieldType } from '../../fields/field-types.ts';
import { fieldColumn } from '../../fields/field.ts';
import { constantOf } from '../../filters/compile/compile.ts';
import { inlineColumns } from '../../query/inline-columns.ts';
import { baseAlias } from '../../query/record-scope.ts';
import { joinSql, sql, type Sql } from '../../sql/sql.ts';
import { QueryTimeout } from '../../storage/engine-errors.ts';
import { beforeAlias, endpointCondition } from '../../endpoints/endpoint-conditions.ts';
import { type Endpoint, wants } from '../../endpoints/endpoint.ts';
import type { EventKind } from '../../events/event.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { ruleMsMax } from '../log/past-events.ts';

/** Endpoints of one statement: a longer one would block the thread for longer. */
const togetherMax = 32;

export type DecidingInstance = Pick<WebhookInstance, 'database' | 'collections' | 'records' | 'clock'>;

/** An event of the log that is decided. */
export interface UndecidedEvent {
  readonly position: number;
  readonly kind: EventKind;
  /** The id of its collection. */
  readonly collection: string;
  readonly record: string;
  readonly revision: number;
  readonly hidden: string | null;
  readonly context: EventContext | undefined;
  readonly body: Uint8Array;
}

/** The endpoints that receive an event, and those that could not be decided, by their numbers. */
export interface Decision {
  /** Without those with transitions. */
  readonly recipients: readonly number[];
  readonly failed: ReadonlyMap<number, string>;
  /** Those with transitions: the transaction that stores the decision decides by what they hold (decide-transitions.ts). */
  readonly mirrors: readonly MirrorAnswer[];
}

export interface MirrorAnswer {
  readonly endpoint: number;
  /** Whether it may be sent the record as the event left it, or as it was before a deletion. */
  readonly isMatch: boolean;
}

interface Question {
  readonly endpoint: number;
  readonly condition: Sql;
}

/**
 * Decides which of these endpoints of accounts receive an event: those that subscribe to it, whose filter it meets and whose owners may view the
 * record as the event left it. Where that takes too long, the other endpoints with the same condition are skipped.
 */
export async function decideEvent(
  instance: DecidingInstance,
  endpoints: readonly Endpoint[],
  event: UndecidedEvent,
): Promise<Decision> {
  const subscribers = endpoints.filter((endpoint) => wants(endpoint, event));
  const collection = instance.collections.find(event.collection);
  if (subscribers.length === 0 || collection === undefined) return toDecision([], noAnswers);
  const { database, collections, clock } = instance;
  const context = { collections, names: database.names, now: clock.now() };
  const questions = subscribers.flatMap((endpoint): Question[] => {
    const condition = endpointCondition(endpoint, collection, context);
    const isNever = condition === undefined || constantOf(condition) === false;
    return isNever ? [] : [{ endpoint: endpoint.number, condition }];
  });
  const after = questions.length === 0 ? undefined : await stateAfter(instance, collection, event);
  if (after === undefined) return toDecision(subscribers, noAnswers);
  const change = { collection, after, before: stateBefore(collection, event, after) };
  return toDecision(subscribers, await evaluateAll(instance, change, questions));
}

interface Answers {
  readonly matches: readonly number[];
  readonly failed: ReadonlyMap<number, string>;
}

const noAnswers: Answers = { matches: [], failed: new Map() };

function toDecision(subscribers: readonly Endpoint[], { matches, failed }: Answers): Decision {
  const [mirrors, others] = [true, false].map((isMirror) =>
    subscribers.filter(({ transitions, number }) => transitions === isMirror && !failed.has(number)),
  );
  const isMatch = ({ number }: Endpoint): boolean => matches.includes(number);
  return {
    recipients: (others ?? []).filter(isMatch).map(({ number }) => number),
    failed,
    mirrors: (mirrors ?? []).map((one) => ({ endpoint: one.number, isMatch: isMatch(one) })),
  };
}

interface Change {
  readonly collection: Collection;
  readonly after: readonly StoredValue[];
  readonly before: readonly StoredValue[];
}

async function evaluateAll(
  { database }: DecidingInstance,
  { collection, after, before }: Change,
  questions: readonly Question[],
): Promise<Answers> {
  const { names } = database;
  const rows = sql`(SELECT ${inlineColumns(collection, after, names)}) AS ${baseAlias},
    (SELECT ${inlineColumns(collection, before, names)}) AS ${beforeAlias}`;
  const matches: number[] = [];
  const failed = new Map<number, string>();
  for (const same of Map.groupBy(questions, ({ condition }) => condition.text).values())
    for (let at = 0; at < same.length; at += togetherMax) {
      const some = same.slice(at, at + togetherMax);
      const columns = some.map(({ condition }) => sql`CASE WHEN ${condition} THEN 1 ELSE 0 END`);
      try {
        const select = sql`SELECT ${joinSql(columns, ', ')} FROM ${rows}`;
        const [answers = []] = await database.search(select, { timeoutMs: ruleMsMax });
        matches.push(
          ...some.filter((_, index) => Number(answers[index]) === 1).map(({ endpoint }) => endpoint),
        );
      } catch (error) {
        const cause = causeOf(error);
        if (cause === undefined) throw error;
        for (const { endpoint } of same.slice(at)) failed.set(endpoint, cause);
        break;
      }
      // Lets requests run in between, however many endpoints there are.
      await nextTurn();
    }
  return { matches, failed };
}

/** Returns why a condition could not be evaluated; undefined for errors that have nothing to do with it. */
function causeOf(error: unknown): string | undefined {
  if (error instanceof QueryTimeout)
    return `Its filter and the view rule took longer than ${ruleMsMax} ms for a change.`;
  if (error instanceof AppError && error.code === 'bad_request')
    return `Its filter and the view rule cannot be used: ${error.message}`;
  return undefined;
}

/** Returns the values after an event; where the event does not have all of them, the current ones of the record, if any. */
async function stateAfter(
  { records }: DecidingInstance,
  collection: Collection,
  event: UndecidedEvent,
): Promise<readonly StoredValue[] | undefined> {
  const { values, isWhole } = eventValues(collection, event);
  return isWhole ? values : (await records.present(collection.id, event.record))?.change.after;
}

/**
 * Returns values before an event that show which fields it changed: an owner may compare nothing else (`status:changed`). A
 * changed field has any value that differs from the one after.
 */
function stateBefore(
  { fields }: Collection,
  { kind, context }: UndecidedEvent,
  after: readonly StoredValue[],
): readonly StoredValue[] {
  return fields.map((field, index) => {
    const value = after[index] ?? null;
    if (kind !== 'record.update') return fieldType(field).zero(field.options);
    // The service sets it with each change.
    const isDated = fieldType(field).stamp?.('update', '', field.options) !== undefined;
    if (context?.changed?.includes(field.name) !== true && !isDated) return value;
    if (value !== null) return null;
    return fieldColumn(field) === 'text' ? 'changed' : 1;
  });
}
