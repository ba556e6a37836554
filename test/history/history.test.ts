import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkHistory } from './check-history.ts';
import { collectHistory } from './collect-history.ts';
import type { Evidence } from './evidence.ts';
import { isDone, itemsOf, toValues, type Exchange, type Operation } from './exchange.ts';
import { historyRun } from './history-run.ts';

// What clients of several nodes are told while they collide. Many more rounds: npm run faults -- history.

const size = { clients: 8, operations: 60 };

for (const [engine, seed] of [
  ['sqlite', 19],
  ['postgres', 23],
] as const) {
  test(`clients that collide are told nothing wrong (${engine}, seed ${seed})`, async (t) => {
    const { violations, events, answers } = await historyRun({ engine, seed, ...size });
    t.diagnostic(JSON.stringify({ events, ...answers }));
    assert.deepEqual(violations.slice(0, 20), []);
    // Without these they have not met.
    for (const name of ['write 412', 'batch 200', 'batch 400', 'view 304', 'view 404'])
      assert.ok((answers[name] ?? 0) > 0, `no ${name}`);
    assert.ok(events > 100, `${events} events`);
  });
}

test('whatever is wrong in a history is found', async () => {
  const evidence = await collectHistory({ engine: 'sqlite', seed: 29, clients: 4, operations: 60 });
  assert.deepEqual(checkHistory(evidence), []);
  for (const [name, tamper] of Object.entries(wrongs)) {
    const tampered = [tamper(evidence)].flat();
    assert.ok(
      tampered.some((one) => checkHistory(one).length > 0),
      name,
    );
  }
});

/** In several ways where one of them may happen to be right: on a slow machine writes last long, and an old answer may be one of meanwhile. */
type Tamper = (evidence: Evidence) => Evidence | readonly Evidence[];

const wrongs: Readonly<Record<string, Tamper>> = {
  'an event is missing': (evidence) => ({
    ...evidence,
    events: evidence.events.toSpliced(evidence.events.length / 2, 1),
  }),
  'an event is there twice': (evidence) => ({
    ...evidence,
    events: [...evidence.events, ...evidence.events.slice(-1)],
  }),
  'two events have changed places': (evidence) => ({ ...evidence, events: evidence.events.toReversed() }),
  'a delivery is missing': (evidence) => ({ ...evidence, deliveries: evidence.deliveries.slice(1) }),
  'a delivery never arrived': (evidence) => ({ ...evidence, receipts: evidence.receipts.slice(1) }),
  'a record is missing': (evidence) => ({
    ...evidence,
    records: new Map(
      [...evidence.records].map(([name, list]) => [name, name === 'authors' ? list.slice(1) : list]),
    ),
  }),
  'an acknowledged write is missing': (evidence) => withExchange(evidence, isRefused, { status: 201 }),
  'a refused write was done': (evidence) => withExchange(evidence, isWritten, { status: 400 }),
  'nobody has asked for a delete': ({ history, ...evidence }) =>
    history.exchanges.filter(isDelete).map((each) => {
      const exchanges = history.exchanges.filter(({ operation }) => operation !== each.operation);
      return { ...evidence, history: { ...history, exchanges } };
    }),
  'a list shows what was there before': (evidence) => withOlderAnswer(evidence, isWholeList),
  'a total counts one more': (evidence) =>
    withExchange(evidence, isWholeList, ({ json }) => ({ json: { ...Object(json), totalItems: 99 } })),
  'a view is answered as before': (evidence) => withOlderAnswer(evidence, isView),
  'a node has failed': (evidence) => withExchange(evidence, isView, { status: 500 }),
  'an answer took long': (evidence) =>
    withExchange(evidence, isView, ({ startMs }) => ({ endMs: startMs + 60_000 })),
};

/** Each with such an exchange answered as the first of the same was, which told of something else; the longest time before it first. */
function withOlderAnswer(evidence: Evidence, isSo: (exchange: Exchange) => boolean): readonly Evidence[] {
  const all = evidence.history.exchanges.filter(isSo);
  const pairs = all.flatMap((later) => {
    const first = all.find(({ operation }) => askedOf(operation) === askedOf(later.operation));
    if (first === undefined || shownBy(first) === shownBy(later)) return [];
    return [{ first, later, gapMs: later.startMs - first.endMs }];
  });
  const byGap = pairs.toSorted((one, other) => other.gapMs - one.gapMs);
  return byGap.map(({ first: { json, etag }, later }) =>
    withExchange(evidence, (exchange) => exchange === later, { json, etag }),
  );
}

/** Whatever its fields are called. */
function shownBy(exchange: Exchange): string {
  const { operation, json } = exchange;
  return JSON.stringify(operation.kind === 'list' ? itemsOf(exchange).map(toValues) : toValues(Object(json)));
}

function askedOf(operation: Operation): string | undefined {
  if (operation.kind === 'list') return operation.query;
  return operation.kind === 'view' ? operation.id : undefined;
}

/** With the first such exchange changed. */
function withExchange(
  evidence: Evidence,
  isSo: (exchange: Exchange) => boolean,
  change: Partial<Exchange> | ((exchange: Exchange) => Partial<Exchange>),
): Evidence {
  const exchanges = [...evidence.history.exchanges];
  const index = exchanges.findIndex(isSo);
  const exchange = exchanges[index] ?? assert.fail('expected such an exchange');
  exchanges[index] = { ...exchange, ...(typeof change === 'function' ? change(exchange) : change) };
  return { ...evidence, history: { ...evidence.history, exchanges } };
}

function isWritten(exchange: Exchange): boolean {
  return (
    exchange.operation.kind === 'write' && exchange.status === 201 && exchange.operation.key === undefined
  );
}

function isRefused({ operation, status }: Exchange): boolean {
  return operation.kind === 'write' && operation.intents[0].token !== undefined && status === 400;
}

function isDelete(exchange: Exchange): boolean {
  const { operation } = exchange;
  return operation.kind === 'write' && operation.intents[0].kind === 'delete' && isDone(exchange);
}

function isWholeList(exchange: Exchange): boolean {
  const { operation } = exchange;
  return (
    operation.kind === 'list' &&
    operation.isWhole &&
    operation.filter === undefined &&
    operation.collection === 'posts' &&
    itemsOf(exchange).length > 0
  );
}

function isView(exchange: Exchange): boolean {
  return (
    exchange.operation.kind === 'view' && exchange.status === 200 && isDone(exchange) && exchange.etag !== ''
  );
}
