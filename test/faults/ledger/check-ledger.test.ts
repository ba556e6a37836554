import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLedger, type LedgerEvidence } from './check-ledger.ts';
import { noWishes } from './endpoint-wishes.ts';
import type { LedgerState } from './ledger-state.ts';
import type { EndpointStory } from './owners.ts';
import type { LedgerReceipt } from './receiver-process.ts';

// A check that finds nothing in a ledger that was tampered with is none.

const written = { status: 201, outcome: 'acknowledged', endMs: 0 } as const;
const story: EndpointStory = {
  id: 'p1',
  created: { startMs: 0, endMs: 1, outcome: 'acknowledged' },
  deleted: undefined,
  status: 'active',
  isSkipped: false,
  mayPauseItself: false,
  healedUrl: undefined,
  wishes: noWishes,
};
const one: LedgerReceipt = {
  line: 0,
  atMs: 1_000,
  receiver: 'first',
  eventId: 'e1',
  delivery: 'e1-p1',
  attempt: 1,
  sequence: 1,
  digest: 'd1',
  isVerified: true,
  answer: 'success',
};
const two: LedgerReceipt = { ...one, line: 1, atMs: 2_000, eventId: 'e2', delivery: 'e2-p1', digest: 'd2' };
const event = { kind: 'record.create', revision: 1 };
const success = { kind: 'success', status: 200, number: 1 };

/** Two records that were written and delivered; without anything wrong. */
const sound: LedgerEvidence = {
  writes: [
    { ...written, key: 'w1', kind: 'create', record: 'r1', startMs: 10, endMs: 11 },
    { ...written, key: 'w2', kind: 'create', record: 'r2', startMs: 20, endMs: 21 },
  ],
  endpoints: new Map([['first', story]]),
  cancelled: new Set(),
  receipts: [one, two],
  kills: [],
  takeovers: [],
  stored: {
    integrity: 'ok',
    events: [
      {
        ...event,
        position: 1,
        id: 'e1',
        record: 'r1',
        title: 'w1',
        digest: 'd1',
        thinDigest: 't1',
        backfill: '',
      },
      {
        ...event,
        position: 2,
        id: 'e2',
        record: 'r2',
        title: 'w2',
        digest: 'd2',
        thinDigest: 't2',
        backfill: '',
      },
    ],
    endpoints: [
      { number: 7, id: 'p1', receiver: 'first', status: 'active', isDeleted: false, attemptsMax: 3 },
    ],
    deliveries: [
      { event: 1, endpoint: 7 },
      { event: 2, endpoint: 7 },
    ],
    outcomes: new Map([
      ['1-7', { status: 'delivered', attempts: 1 }],
      ['2-7', { status: 'delivered', attempts: 1 }],
    ]),
    gaps: [],
    lanes: new Map([[7, { cursor: 2 }]]),
    attempts: [
      { ...success, event: 1, endpoint: 7 },
      { ...success, event: 2, endpoint: 7 },
    ],
    records: new Set(['r1', 'r2']),
  },
};

function problemsOf(changes: Partial<LedgerEvidence>, stored: Partial<LedgerState> = {}): readonly string[] {
  return checkLedger({ ...sound, ...changes, stored: { ...sound.stored, ...stored } }).violations;
}

/** The stored state with the second delivery's outcome and attempts replaced. */
function second(
  outcome: { readonly status: string; readonly attempts: number } | undefined,
  attempts: LedgerState['attempts'] = [],
): Partial<LedgerState> {
  const outcomes = new Map(sound.stored.outcomes);
  if (outcome === undefined) outcomes.delete('2-7');
  else outcomes.set('2-7', outcome);
  return { outcomes, attempts: [...sound.stored.attempts.slice(0, 1), ...attempts] };
}

const secondKill = { lines: 2, attempts: new Map([['e1-p1', 1]]) };

test('a sound ledger has no violations, and its figures add up', () => {
  const { violations, figures } = checkLedger(sound);
  assert.deepEqual(violations, []);
  const { events, deliveries, delivered, waiting, receipts, duplicates } = figures;
  assert.deepEqual([events, deliveries, delivered, waiting, receipts, duplicates], [2, 2, 2, 0, 2, 0]);
});

test('a write that was acknowledged and is lost is found', () => {
  const lost = {
    ...second(undefined),
    events: sound.stored.events.slice(0, 1),
    deliveries: sound.stored.deliveries.slice(0, 1),
    records: new Set(['r1']),
  };
  assert.deepEqual(problemsOf({ receipts: [one] }, lost), [
    'write w2 was acknowledged and has no event',
    'record r2 was acknowledged and is lost',
  ]);
});

test('an event that nobody wrote is found, and one that was refused', () => {
  assert.match(
    String(problemsOf({ writes: sound.writes.slice(0, 1) })),
    /event e2 is of w2, which nobody wrote/,
  );
  const writes = sound.writes.map((write) => ({ ...write, outcome: 'refused' as const, status: 400 }));
  assert.match(String(problemsOf({ writes })), /w2 was refused and has an event/);
});

test('a delivery that was never made for an endpoint that was there is found', () => {
  const problems = problemsOf(
    { receipts: [one] },
    { ...second(undefined), deliveries: sound.stored.deliveries.slice(0, 1) },
  );
  assert.deepEqual(problems, ['event e2 has no delivery for p1']);
});

test('a delivery for an endpoint that was deleted before is found, and one under way with the deletion may be there', () => {
  const deleted = { startMs: 12, endMs: 13, outcome: 'acknowledged' } as const;
  const endpoints = new Map([['first', { ...story, deleted }]]);
  const stored = { endpoints: sound.stored.endpoints.map((each) => ({ ...each, isDeleted: true })) };
  assert.deepEqual(problemsOf({ endpoints }, stored), [
    'event e2 has a delivery for p1, which was not there or did not want it',
  ]);
  const meanwhile = new Map([['first', { ...story, deleted: { ...deleted, endMs: 25 } }]]);
  assert.deepEqual(problemsOf({ endpoints: meanwhile }, stored), []);
});

test('a delivery that is called delivered and that no receiver has taken is found', () => {
  assert.deepEqual(problemsOf({ receipts: [one] }), [
    'delivery e2-p1 is delivered, and no receiver has taken it',
    'attempt 1 of e2-p1 was answered with 200, and never received',
  ]);
  const refused = [one, { ...two, answer: 'failure' as const }];
  assert.match(String(problemsOf({ receipts: refused })), /e2-p1 is delivered, and no receiver has taken it/);
});

test('a receipt of a delivery that was never committed is found, and one at another receiver', () => {
  const foreign = { ...one, line: 2, delivery: 'e9-p1', eventId: 'e9' };
  assert.match(
    String(problemsOf({ receipts: [one, two, foreign] })),
    /receipt 2 is of e9-p1, and no such delivery was committed/,
  );
  const elsewhere = [one, { ...two, receiver: 'other' }];
  assert.deepEqual(problemsOf({ receipts: elsewhere }), ['receipt 1 of e2-p1 was sent to other']);
});

test('a signature that is wrong is found, and bytes, an id and a sequence of another event', () => {
  const unsigned = [one, { ...two, isVerified: false }];
  assert.match(String(problemsOf({ receipts: unsigned })), /receipt 1 of e2-p1 has a wrong signature/);
  assert.match(
    String(problemsOf({ receipts: [one, { ...two, digest: 'd1' }] })),
    /other bytes than the event/,
  );
  assert.match(String(problemsOf({ receipts: [one, { ...two, eventId: 'e1' }] })), /has the webhook-id e1/);
  assert.match(String(problemsOf({ receipts: [one, { ...two, sequence: 2 }] })), /has the sequence 2/);
});

test('an attempt that is received twice is found, unless a server died in between that had not stored it', () => {
  const again = { ...two, line: 2, atMs: 3_000 };
  const twice = [one, two, again];
  const violation = ['attempt 1 of e2-p1 was received twice, in lines 1 and 2'];
  assert.deepEqual(problemsOf({ receipts: twice }), violation);
  const { violations, figures } = checkLedger({ ...sound, receipts: twice, kills: [secondKill] });
  assert.deepEqual(violations, []);
  assert.deepEqual([figures.duplicates, figures.inFlightAtKills], [1, 1]);
  // It was stored before the server died; or it came three times, and only one server died.
  const settled = { lines: 2, attempts: new Map([['e2-p1', 1]]) };
  assert.deepEqual(problemsOf({ receipts: twice, kills: [settled] }), violation);
  const thrice = [...twice, { ...again, line: 3, atMs: 4_000 }];
  assert.deepEqual(problemsOf({ receipts: thrice, kills: [secondKill] }), [
    'attempt 1 of e2-p1 was received twice, in lines 2 and 3',
  ]);
  // The server died before the first or after the second.
  for (const lines of [1, 3])
    assert.deepEqual(problemsOf({ receipts: twice, kills: [{ ...secondKill, lines }] }), violation);
});

test('an attempt may be received twice when another node has taken the instance in between', () => {
  const twice = [one, two, { ...two, line: 2, atMs: 3_000 }];
  assert.deepEqual(problemsOf({ receipts: twice, takeovers: [2_500] }), []);
  assert.equal(problemsOf({ receipts: twice, takeovers: [3_500] }).length, 1);
});

test('an attempt that the receiver has cut off may come once more, and not twice', () => {
  const cut = { ...two, answer: 'cut' } as const;
  const resent = [one, cut, { ...two, line: 2 }];
  assert.deepEqual(problemsOf({ receipts: resent }), []);
  const again = [one, cut, { ...cut, line: 2 }, { ...two, line: 3 }];
  assert.equal(problemsOf({ receipts: again }).length, 1);
});

test('a delivery that waits for an active endpoint is found, and one of a paused endpoint is counted', () => {
  const waiting = { ...second(undefined), lanes: new Map([[7, { cursor: 1 }]]) };
  assert.deepEqual(problemsOf({ receipts: [one] }, waiting), [
    'delivery e2-p1 is pending, and nothing explains it',
  ]);
  const endpoints = new Map([['first', { ...story, status: 'paused' as const }]]);
  const paused = sound.stored.endpoints.map((endpoint) => ({ ...endpoint, status: 'paused' }));
  const stored = { ...sound.stored, ...waiting, endpoints: paused };
  const { violations, figures } = checkLedger({ ...sound, endpoints, receipts: [one], stored });
  assert.deepEqual(violations, []);
  assert.deepEqual([figures.delivered, figures.waiting], [1, 1]);
});

test('a cursor that has passed over a delivery is found', () => {
  const endpoints = new Map([['first', { ...story, status: 'paused' as const }]]);
  const paused = sound.stored.endpoints.map((endpoint) => ({ ...endpoint, status: 'paused' }));
  assert.deepEqual(problemsOf({ endpoints, receipts: [one] }, { ...second(undefined), endpoints: paused }), [
    'lane 7 has passed over event 2: its cursor is 2',
  ]);
});

test('a delivery that is over without a reason is found', () => {
  const failed = { event: 2, endpoint: 7, kind: 'status', status: 500 };
  const receipts = [one, { ...two, answer: 'failure' as const }];
  const attempts = [{ ...failed, number: 1 }];
  const cancelled = second({ status: 'cancelled', attempts: 1 }, attempts);
  assert.deepEqual(problemsOf({ receipts }, cancelled), [
    'delivery e2-p1 is cancelled, and nothing explains it',
  ]);
  assert.deepEqual(problemsOf({ receipts, cancelled: new Set(['e2-p1']) }, cancelled), []);
  const endpoints = new Map([['first', { ...story, isSkipped: true }]]);
  assert.deepEqual(problemsOf({ receipts, endpoints }, cancelled), []);
  // Its schedule allows three.
  const exhausted = second({ status: 'exhausted', attempts: 1 }, attempts);
  assert.deepEqual(problemsOf({ receipts }, exhausted), [
    'delivery e2-p1 is exhausted, and nothing explains it',
  ]);
  const expired = second({ status: 'expired', attempts: 1 }, attempts);
  assert.deepEqual(problemsOf({ receipts }, expired), ['delivery e2-p1 is expired, and nothing explains it']);
});

test('attempts that are missing, or that nobody has received, are found', () => {
  const uncounted = second({ status: 'delivered', attempts: 2 }, [{ ...success, event: 2, endpoint: 7 }]);
  assert.deepEqual(problemsOf({}, uncounted), ['delivery e2-p1 counts 2 attempts, and has 1']);
  const failed = { event: 2, endpoint: 7, number: 1, kind: 'connect', status: null };
  const invented = second({ status: 'delivered', attempts: 2 }, [
    failed,
    { ...success, number: 2, event: 2, endpoint: 7 },
  ]);
  assert.deepEqual(problemsOf({}, invented), [
    'attempt 2 of e2-p1 was answered with 200, and never received',
  ]);
});

test('an attempt that was received and is not stored is found, unless its server died', () => {
  const receipts = [one, two, { ...two, line: 2, attempt: 2 }];
  assert.deepEqual(problemsOf({ receipts }), ['attempt 2 of e2-p1 was received, and is not stored']);
  const kill = { lines: 3, attempts: new Map([['e2-p1', 1]]) };
  assert.deepEqual(problemsOf({ receipts, kills: [kill] }), []);
});

test('an endpoint that is not as its owner was told is found', () => {
  const endpoints = new Map([['first', { ...story, status: 'paused' as const }]]);
  assert.deepEqual(problemsOf({ endpoints }), ['endpoint first is active, and was acknowledged as paused']);
  const more = new Map([...sound.endpoints, ['second', story] as const]);
  assert.deepEqual(problemsOf({ endpoints: more }), ['endpoint second was acknowledged and is lost']);
});

test('a change that was not sent is explained by a later one of the record, where an endpoint wants the last alone', () => {
  const [first, last] = sound.stored.events;
  assert.ok(first && last);
  const sent = { status: 'delivered', attempts: 1 };
  const coalesced = {
    writes: [
      { ...written, key: 'w1', kind: 'create', record: 'r1', startMs: 10, endMs: 11 },
      { ...written, key: 'w2', kind: 'update', record: 'r1', startMs: 20, endMs: 21 },
    ],
    endpoints: new Map([['first', { ...story, wishes: { ...noWishes, coalesce: true } }]]),
    receipts: [{ ...two, line: 0, sequence: 2 }],
  } as const;
  const stored = {
    events: [first, { ...last, kind: 'record.update', record: 'r1', revision: 2 }],
    outcomes: new Map([
      ['1-7', { status: 'cancelled', attempts: 0 }],
      ['2-7', sent],
    ]),
    attempts: [{ ...success, event: 2, endpoint: 7 }],
    records: new Set(['r1']),
  };
  assert.deepEqual(problemsOf(coalesced, stored), []);
  assert.deepEqual(problemsOf({ ...coalesced, endpoints: sound.endpoints }, stored), [
    'delivery e1-p1 is cancelled, and nothing explains it',
  ]);
  const swapped = new Map([
    ['1-7', sent],
    ['2-7', { status: 'cancelled', attempts: 0 }],
  ]);
  const attempts = [{ ...success, event: 1, endpoint: 7 }];
  assert.deepEqual(
    problemsOf({ ...coalesced, receipts: [one] }, { ...stored, outcomes: swapped, attempts }),
    ['delivery e2-p1 is cancelled, and nothing explains it'],
  );
});

test('what an endpoint is told must meet its filter, and be what it wants of it', () => {
  const filtered = { ...story, wishes: { ...noWishes, filter: "title !~ '%1'" } };
  assert.deepEqual(problemsOf({ endpoints: new Map([['first', filtered]]) }), [
    'event e1 has a delivery for p1, which was not there or did not want it',
  ]);
  const thin = { ...story, wishes: { ...noWishes, payload: 'thin' as const } };
  assert.deepEqual(
    problemsOf({ endpoints: new Map([['first', thin]]), receipts: [{ ...one, digest: 't1' }, two] }),
    ['receipt 1 of e2-p1 has other bytes than the event'],
  );
});

test('a backfill tells its one endpoint of each record once, as it was written', () => {
  const [first] = sound.stored.events;
  assert.ok(first);
  const filled = { ...first, position: 3, id: 'e3', kind: 'backfill', backfill: 'b1', digest: 'd3' };
  const receipt = { ...one, line: 2, eventId: 'e3', delivery: 'e3-p1', digest: 'd3' };
  const withEvents = (events: readonly (typeof filled)[]): readonly string[] =>
    problemsOf(
      {
        receipts: [
          one,
          two,
          ...events.map(({ id }, at) => ({ ...receipt, line: 2 + at, eventId: id, delivery: `${id}-p1` })),
        ],
      },
      {
        events: [...sound.stored.events, ...events],
        deliveries: [
          ...sound.stored.deliveries,
          ...events.map(({ position }) => ({ event: position, endpoint: 7 })),
        ],
        outcomes: new Map([
          ...sound.stored.outcomes,
          ...events.map(({ position }) => [`${position}-7`, { status: 'delivered', attempts: 1 }] as const),
        ]),
        attempts: [
          ...sound.stored.attempts,
          ...events.map(({ position }) => ({ ...success, event: position, endpoint: 7 })),
        ],
        lanes: new Map([[7, { cursor: 9 }]]),
      },
    );
  assert.deepEqual(withEvents([filled]), []);
  assert.deepEqual(withEvents([filled, { ...filled, position: 4, id: 'e4' }]), [
    'the backfill b1 tells twice of r1',
  ]);
  assert.deepEqual(withEvents([{ ...filled, title: 'w9' }]), [
    'event e3 of a backfill is of w9, which nobody wrote',
  ]);
});
