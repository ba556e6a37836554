import { isDeepStrictEqual } from 'node:util';
import type { Engine } from '../../src/storage/database.ts';
import { isLike, type Chains } from './chains.ts';
import { isDone, toValues, type Exchange, type Values } from './exchange.ts';
import type { Report } from './evidence.ts';

/** Ten seconds for a turn to write, and what a batch may take, on a busy machine. */
const answerMsMax = 15_000;
/** Of all writes. */
const busyShareMax = 0.02;

/** What can be said of each answer by itself, and of those that were asked for twice under one key. */
export function checkAnswers(chains: Chains, exchanges: readonly Exchange[], report: Report): void {
  for (const exchange of exchanges) {
    const { status, startMs, endMs, operation } = exchange;
    const what = JSON.stringify(operation);
    if (endMs - startMs > answerMsMax) report(`${(endMs - startMs).toFixed(0)} ms for ${what}`);
    const isExpected = isDone(exchange) || [304, 400, 403, 404, 412].includes(status) || isBusy(exchange);
    if (!isExpected) report(`${status} for ${what}: ${JSON.stringify(exchange.json)}`);
    if ((operation.kind === 'rule' || operation.kind === 'rename') && !isDone(exchange))
      report(`${status} for ${what}: ${JSON.stringify(exchange.json)}`);
    if (isDone(exchange)) checkBodies(exchange, chains, report);
  }
  checkRepeats(exchanges, report);
}

/** Nothing was done. */
export function isBusy({ operation, status }: Exchange): boolean {
  return (operation.kind === 'write' || operation.kind === 'batch') && status === 503;
}

/**
 * Works of PostgreSQL that wait for each other are ended, and run again up to three times: where so few records are so much wanted, one is
 * ended each time now and then.
 */
export function checkBusy(engine: Engine, exchanges: readonly Exchange[], report: Report): void {
  const writes = exchanges.filter(
    ({ operation }) => operation.kind === 'write' || operation.kind === 'batch',
  );
  const busy = exchanges.filter(isBusy).length;
  if (busy > (engine === 'sqlite' ? 0 : busyShareMax * writes.length))
    report(`503 for ${busy} of ${writes.length} writes`);
}

/** A write is answered with the state that it made. */
function checkBodies(exchange: Exchange, chains: Chains, report: Report): void {
  const { operation, json } = exchange;
  if (operation.kind !== 'write' && operation.kind !== 'batch') return;
  // As docs/records.md has it: the record, or an answer for each item.
  const answers = (operation.kind === 'batch' ? json : [{ body: json }]) as readonly {
    readonly body: Values | null;
  }[];
  for (const [index, { token, collection, id, kind }] of operation.intents.entries()) {
    if (token === undefined) continue;
    const state = chains.get(`${collection}/${id}`)?.find((each) => each.token === token);
    const shown = toValues(answers[index]?.body ?? {});
    if (state !== undefined && (!isLike(state, shown) || shown['id'] !== id))
      report(
        `${kind} ${token} was answered ${JSON.stringify(shown)} and told as ${JSON.stringify(state.values)}`,
      );
  }
}

function checkRepeats(exchanges: readonly Exchange[], report: Report): void {
  const byOperation = Map.groupBy(exchanges, ({ operation }) => operation);
  for (const [operation, asked] of byOperation) {
    if (!('key' in operation)) continue;
    const done = asked.filter(isDone);
    const say = (text: string): void => report(`${text}: ${JSON.stringify(operation)}`);
    const own = done.filter(({ isReplayed }) => !isReplayed).length;
    if (done.length > 0 && own !== 1) say(`done ${own} times under one key`);
    if (!done.every((each) => isDeepStrictEqual(answerOf(each), answerOf(done[0]))))
      say(
        `answered differently under one key: ${done.map((each) => JSON.stringify(answerOf(each))).join(' | ')}`,
      );
    checkOrder(asked, say);
  }
}

/** Once it was done, it is answered as done. */
function checkOrder(asked: readonly Exchange[], say: Report): void {
  for (const later of asked)
    if (
      !isDone(later) &&
      later.status !== 403 &&
      !isBusy(later) &&
      asked.some((first) => isDone(first) && first.endMs < later.startMs)
    )
      say(`${later.status} after it was done`);
}

function answerOf(exchange: Exchange | undefined): unknown {
  return [exchange?.status, exchange?.etag, exchange?.json];
}
