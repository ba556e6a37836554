import { isJsonObject, type JsonObject } from '../../base/json.ts';
import type { Column } from '../terminal/show.ts';

/** The columns of deliveries in lists. The most important come first, as a narrow window has no room for the others. */
export const deliveryColumns: readonly Column[] = [
  { title: 'id', of: ({ id }) => id, width: 36 },
  { title: 'status', of: ({ status }) => status, width: 9 },
  { title: 'last answer', of: lastAnswer, width: 14 },
  { title: 'event', of: ({ kind }) => kind, width: 13 },
  { title: 'attempts', of: (delivery) => attemptsOf(delivery).length },
  { title: 'next attempt', of: ({ nextAttempt }) => nextAttempt, width: 24 },
  { title: 'endpoint', of: ({ endpoint }) => endpoint, width: 15 },
  { title: 'record', of: recordOf, width: 24 },
  { title: 'created', of: ({ created }) => created, width: 24 },
];

export function attemptsOf({ attempts }: JsonObject): readonly JsonObject[] {
  return Array.isArray(attempts) ? attempts.filter(isJsonObject) : [];
}

/** Returns a record as `posts/r4nd0m1d0000001`; empty for a test, which is about none. */
export function recordOf({ collection, record }: JsonObject): string {
  // An event about an endpoint is of no collection.
  if (record === '' || collection === '') return String(record);
  return `${String(collection)}/${String(record)}`;
}

/** Returns what came of the last attempt: `200 in 41 ms`, or why there was no answer; empty before the first. */
export function lastAnswer(delivery: JsonObject): string {
  const last = attemptsOf(delivery).at(-1);
  return last === undefined ? '' : answerOf(last);
}

function answerOf({ kind, status, cause, totalMs }: JsonObject): string {
  const isAnswer = kind === 'success' || kind === 'status';
  return isAnswer ? `${String(status)} in ${millisecondsOf(totalMs)}` : String(cause);
}

function millisecondsOf(value: unknown): string {
  return `${Math.round(Number(value))} ms`;
}

/** Returns an attempt on one line: when it was made, what came of it, and where its time went. */
export function attemptText(attempt: JsonObject): string {
  const { started, totalMs } = attempt;
  const steps = [
    ['DNS', attempt['dnsMs']],
    ['connection', attempt['connectMs']],
    ['TLS', attempt['tlsMs']],
    ['first byte', attempt['firstByteMs']],
  ] as const;
  const times = steps.flatMap(([name, ms]) =>
    typeof ms === 'number' ? [`${name} ${millisecondsOf(ms)}`] : [],
  );
  const isAnswer = attempt['kind'] === 'success' || attempt['kind'] === 'status';
  const spent = isAnswer ? times : [...times, `${millisecondsOf(totalMs)} in all`];
  return `${String(started)}: ${answerOf(attempt)}${spent.length === 0 ? '' : ` (${spent.join(', ')})`}`;
}
