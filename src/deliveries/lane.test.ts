import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/faults/random.ts';
import { closedLane, Lane, type LaneChange } from './lane.ts';

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

type Result = Parameters<Lane['end']>[1];

const success = result('success', { isSuccess: true });
const down = result('status', { isEndpointWide: true });
const silent = result('timeout', { isEndpointWide: true });
const unreached = result('connect', { isEndpointWide: true });
const proxyDown = result('proxy', { isEndpointWide: true });
const refusal = result('status');
const cut = result('aborted');

function result(kind: Result['kind'], members: Partial<Result> = {}): Result {
  const cause = kind === 'success' ? '' : 'It failed.';
  return { kind, isSuccess: false, isEndpointWide: false, retryAfterSeconds: null, cause, ...members };
}

/** A lane whose attempts end a millisecond after they began, one at a time, each of another delivery. */
class Trial {
  readonly lane: Lane;
  readonly maxInFlight: number;
  now = 1_000_000;
  #count = 0;

  constructor(maxInFlight = 16) {
    this.maxInFlight = maxInFlight;
    this.lane = new Lane(maxInFlight);
  }

  get room(): number {
    return this.lane.roomAt(this.now, this.maxInFlight);
  }

  send(delivery = `d${(this.#count += 1)}`): string {
    this.lane.send(delivery, this.now);
    return delivery;
  }

  end(delivery: string, ended: Result): LaneChange | undefined {
    return this.lane.end(delivery, ended, { now: this.now, maxInFlight: this.maxInFlight, random: 0.5 });
  }

  attempt(ended: Result, delivery?: string): LaneChange | undefined {
    const sent = this.send(delivery);
    this.now += 1;
    return this.end(sent, ended);
  }

  attempts(times: number, ended: Result, delivery?: string): (LaneChange | undefined)[] {
    return Array.from({ length: times }, () => this.attempt(ended, delivery));
  }

  /** Goes to the time of the next probe. */
  untilProbe(): void {
    this.now = this.lane.opensAt(this.now) ?? this.now;
  }
}

test('a window begins at four, grows by one with each success up to what the endpoint allows, and halves when it fails', () => {
  const trial = new Trial(6);
  assert.equal(trial.room, 4);
  trial.attempts(9, success);
  assert.equal(trial.room, 6);
  trial.attempt(down);
  assert.equal(trial.room, 3);
  trial.attempt(refusal);
  assert.equal(trial.room, 3);
  trial.send();
  assert.equal(trial.room, 2);
  assert.equal(new Trial(1).room, 1);
});

for (const [name, failures] of [
  ['five failures of the whole endpoint in a row', (trial: Trial) => trial.attempts(5, down)],
  ['two time-outs of an endpoint that has not answered yet', (trial: Trial) => trial.attempts(2, silent)],
  ['ten failures of any kind in a row', (trial: Trial) => trial.attempts(10, refusal)],
  [
    'failures of half of twenty attempts in a minute',
    (trial: Trial) => Array.from({ length: 10 }, () => [trial.attempt(success), trial.attempt(down)]).flat(),
  ],
] as const)
  test(`${name} open the lane, and no fewer`, () => {
    const trial = new Trial();
    const changes = failures(trial);
    assert.deepEqual(changes.slice(0, -1).filter(Boolean), []);
    assert.equal(changes.at(-1), 'opened');
    assert.deepEqual([trial.lane.state, trial.room], ['open', 0]);
    assert.deepEqual(trial.lane.stored.cause, 'It failed.');
  });

for (const [name, failures] of [
  ['failures that successes part', (trial: Trial) => trial.attempts(4, down).concat(trial.attempt(success))],
  ['one delivery that fails ten times', (trial: Trial) => trial.attempts(30, refusal, 'same')],
  [
    'two time-outs of an endpoint that answers others',
    (trial: Trial) => (trial.attempt(success), trial.attempts(2, silent)),
  ],
  ['attempts that this service cuts short', (trial: Trial) => trial.attempts(50, cut)],
] as const)
  test(`${name}, do not open it`, () => {
    const trial = new Trial();
    failures(trial);
    assert.equal(trial.lane.state, 'closed');
    assert.equal(trial.lane.stored, closedLane);
  });

test('an open lane is probed after 5 s, then after twice the time, up to ten minutes', () => {
  const trial = new Trial();
  trial.attempts(5, down);
  const waits: number[] = [];
  for (let probe = 0; probe < 10; probe += 1) {
    const from = trial.now;
    trial.untilProbe();
    waits.push((trial.now - from) / second);
    assert.equal(trial.room, 1);
    const sent = trial.send();
    assert.equal(trial.room, 0, 'one at a time');
    trial.end(sent, down);
  }
  assert.deepEqual(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]);
});

test('an aborted probe is repeated', () => {
  const trial = new Trial();
  trial.attempts(5, down);
  trial.untilProbe();
  trial.end(trial.send(), cut);
  assert.equal(trial.room, 1);
});

test('a lane that recovers is sent one, two, three at once, and is closed at four', () => {
  const trial = new Trial();
  trial.attempts(5, down);
  trial.untilProbe();
  assert.equal(trial.attempt(success), 'recovered');
  const rooms = [trial.room];
  for (let more = 0; more < 3; more += 1) {
    assert.equal(trial.lane.state, 'slow');
    assert.equal(trial.attempt(success), undefined);
    rooms.push(trial.room);
  }
  assert.deepEqual(rooms, [1, 2, 3, 4]);
  assert.equal(trial.lane.stored, closedLane);
});

test('a lane that fails while it recovers is open again, and waits for longer', () => {
  const trial = new Trial();
  trial.attempts(5, down);
  trial.untilProbe();
  trial.attempt(success);
  assert.equal(trial.attempt(down), undefined);
  assert.equal(trial.lane.stored.probeDelayMs, 10 * second);
});

test('a late success of an attempt that was open before the breaker opened closes it', () => {
  const trial = new Trial();
  const late = trial.send();
  trial.attempts(5, down);
  assert.equal(trial.end(late, success), 'recovered');
  assert.equal(trial.lane.state, 'slow');
});

test('a failed probe after five days disables the endpoint', () => {
  const trial = new Trial();
  trial.attempts(5, down);
  const from = trial.now;
  let requests = 5;
  let change: LaneChange | undefined;
  for (; change === undefined && requests < requestsMax; requests += 1) {
    trial.untilProbe();
    change = trial.attempt(down);
  }
  assert.equal(change, 'disabled');
  assert.ok(trial.now - from >= 5 * day && trial.now - from < 5 * day + 15 * minute);
  assert.ok(requests <= 250 * 5, `${requests} requests in five days`);
});

test('Retry-After holds a lane until that time, whatever its state', () => {
  const trial = new Trial();
  const busy = { ...down, retryAfterSeconds: 3_600 };
  trial.attempt(busy);
  assert.deepEqual([trial.room, trial.lane.state], [0, 'closed']);
  assert.notEqual(trial.lane.stored, closedLane, 'it is stored');
  assert.equal(trial.lane.opensAt(trial.now), trial.now + 3_600 * second);
  trial.now += 3_600 * second;
  assert.ok(trial.room > 0);
  trial.attempt(success);
  assert.equal(trial.lane.stored, closedLane);
  trial.attempts(4, down);
  trial.attempt(busy);
  assert.equal(trial.lane.state, 'open');
  trial.now += 3_599 * second;
  assert.equal(trial.room, 0);
});

test('an endpoint is proven for a minute after a success, and not while an attempt is silent for longer than usual', () => {
  const trial = new Trial();
  const { lane } = trial;
  assert.equal(lane.isProven(trial.now), false);
  trial.attempt(success);
  assert.equal(lane.isProven(trial.now + minute), true);
  assert.equal(lane.isProven(trial.now + minute + 1), false);
  const open = trial.send();
  assert.equal(lane.isProven(trial.now + 2 * second), true);
  assert.equal(lane.isProven(trial.now + 2 * second + 1), false);
  trial.now += 5 * second;
  trial.end(open, success);
  trial.send();
  assert.equal(lane.isProven(trial.now + 20 * second), true, 'four times the usual time');
  trial.attempt(refusal);
  assert.equal(lane.isProven(trial.now), false);
});

test('a lane restores the time of its probe, the delay and Retry-After', () => {
  const trial = new Trial();
  trial.attempts(5, down);
  trial.untilProbe();
  trial.attempt({ ...down, retryAfterSeconds: 60 });
  const another = new Lane(16);
  another.restore(trial.lane.stored);
  assert.deepEqual(another.stored, trial.lane.stored);
  assert.equal(another.opensAt(trial.now), trial.now + 60 * second);
  another.restore();
  assert.equal(another.roomAt(trial.now, 16), 4);
});

test('a lane counts attempts, probes alone and stores its state in any order of events', () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
  const random = new Random(seed);
  const results = [success, down, silent, refusal, cut, { ...down, retryAfterSeconds: 30 }];
  for (let history = 0; history < 300; history += 1) {
    const trial = new Trial(1 + Math.floor(random.unit() * 20));
    const open: string[] = [];
    for (let step = 0; step < 400; step += 1) {
      const { lane } = trial;
      trial.now += random.integer(1, 4) === 1 ? random.integer(0, 90_000) : random.integer(0, 50);
      if (random.unit() < 0.5 && trial.room > 0) open.push(trial.send());
      else if (open.length > 0) {
        const [ended = ''] = open.splice(random.integer(0, open.length - 1), 1);
        trial.end(ended, random.pick(results) ?? success);
      }
      const about = `seed ${seed}, history ${history}, step ${step}`;
      assert.equal(lane.inFlight, open.length, about);
      assert.ok(lane.inFlight <= Math.max(trial.maxInFlight, 4) + 1, about);
      if (lane.state === 'probing') assert.equal(trial.room, 0, about);
      else assert.equal(lane.state, lane.stored.state, about);
      if (lane.state !== 'closed') assert.ok(lane.stored.since > 0, about);
      const opensAt = lane.opensAt(trial.now);
      if (opensAt !== undefined && lane.state === 'open')
        assert.equal(lane.roomAt(opensAt, trial.maxInFlight), 1, about);
    }
  }
});

/** Far more than are sent: a lane that lets in any number fails its test rather than never ending it. */
const requestsMax = 10_000;

/** How often a dispatcher looks for handshakes that are due. */
const sweepEvery = 5 * second;

/** Goes on for a while, with a receiver that connects or not and answers each request that is due in the same way; returns how many there were. */
function sweep(
  trial: Trial,
  { during, connects, answer }: { during: number; connects: (now: number) => boolean; answer: Result },
): number {
  let requests = 0;
  for (const end = trial.now + during; trial.now < end; trial.now += sweepEvery) {
    const { lane, now } = trial;
    if (lane.beginHandshake(now)) lane.noteHandshake(connects(now), now);
    for (; trial.lane.state === 'open' && trial.room > 0 && requests < requestsMax; requests += 1)
      trial.attempt(answer);
  }
  return requests;
}

test('an unreachable receiver gets a probe within 30 seconds of its recovery', () => {
  for (const awayMs of [minute, 5 * minute, 50 * minute]) {
    const trial = new Trial();
    trial.attempts(5, unreached);
    sweep(trial, { during: awayMs, connects: () => false, answer: unreached });
    assert.equal(trial.lane.state, 'open');
    sweep(trial, { during: 30 * second, connects: () => true, answer: success });
    assert.notEqual(trial.lane.state, 'open');
  }
});

test('a proxy that fails opens the lane, but is no reason to disable the endpoint, and its recovery is found', () => {
  const trial = new Trial();
  assert.equal(trial.attempts(5, proxyDown).at(-1), 'opened');
  sweep(trial, { during: 6 * day, connects: () => false, answer: proxyDown });
  assert.equal(trial.lane.state, 'open');
  assert.ok(trial.now - trial.lane.stored.since < 20 * minute, 'the receiver is not away for days');
  trial.untilProbe();
  assert.equal(trial.attempt(down), undefined, 'it is not disabled at once either');
  trial.untilProbe();
  trial.attempt(proxyDown);
  sweep(trial, { during: 5 * second, connects: () => false, answer: proxyDown });
  sweep(trial, { during: 30 * second, connects: () => true, answer: success });
  assert.notEqual(trial.lane.state, 'open');
});

test('a restart does not make a receiver wait for longer', () => {
  const trial = new Trial();
  trial.attempts(5, unreached);
  sweep(trial, { during: 50 * minute, connects: () => false, answer: unreached });
  const { stored } = trial.lane;
  const another = new Trial();
  another.now = trial.now;
  another.lane.restore(stored);
  sweep(another, { during: 30 * second, connects: () => true, answer: success });
  assert.notEqual(another.lane.state, 'open');
});

/** Of a lane that is open for a day, and by the handshake that follows its first failure. */
const probesOfDay = 152;

for (const [name, connects, more] of [
  ['behind a balancer that takes every connection', () => true, 1],
  ['behind a balancer that comes and goes', (now: number) => Math.floor(now / minute) % 2 === 0, 80],
  ['that cannot be reached', () => false, 0],
] as const)
  test(`a dead receiver ${name} gets 250 requests a day at most`, (t) => {
    for (const answer of [unreached, down]) {
      const trial = new Trial();
      trial.attempts(5, unreached);
      const requests = sweep(trial, { during: day, connects, answer });
      t.diagnostic(`${requests} requests in a day`);
      assert.ok(requests <= probesOfDay + more, `${requests} requests in a day`);
    }
  });

test('a reachable receiver gets no handshake, nor does one during Retry-After', () => {
  const trial = new Trial();
  trial.attempts(5, down);
  trial.now += 4 * second;
  assert.equal(trial.lane.beginHandshake(trial.now + minute), false);
  trial.untilProbe();
  trial.attempt({ ...unreached, retryAfterSeconds: 3_600 });
  assert.equal(trial.lane.beginHandshake(trial.now + minute), false);
});

test('a requested probe is sent alone', () => {
  const trial = new Trial();
  const open = trial.send();
  trial.attempts(5, down);
  trial.lane.restore({ ...trial.lane.stored, probeAt: 0 });
  assert.equal(trial.room, 0);
  trial.end(open, down);
  assert.equal(trial.room, 1);
});
