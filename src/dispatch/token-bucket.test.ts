import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/faults/random.ts';
import { TokenBucket } from './token-bucket.ts';

const start = Date.UTC(2026, 10, 20, 9, 35, 20, 114);

function emptied(rate: number): TokenBucket {
  const bucket = new TokenBucket();
  for (let left = bucket.available(start, rate); left > 0; left -= 1) bucket.take(start, rate);
  return bucket;
}

test('a new bucket has the tokens of one second, at least one', () => {
  assert.equal(new TokenBucket().available(start, 10), 10);
  assert.equal(new TokenBucket().available(start, 0.2), 1);
});

test('tokens are added evenly over a second', () => {
  const bucket = emptied(10);
  assert.equal(bucket.available(start, 10), 0);
  assert.equal(bucket.available(start + 99, 10), 0);
  assert.equal(bucket.available(start + 100, 10), 1);
  bucket.take(start + 100, 10);
  assert.equal(bucket.available(start + 400, 10), 3);
});

test('an idle bucket keeps the tokens of one second', () => {
  const bucket = emptied(10);
  assert.equal(bucket.available(start + 999, 10), 9);
  assert.equal(bucket.available(start + 86_400_000, 10), 10);
});

test('a bucket returns the time of the next token: now if there is one', () => {
  const bucket = emptied(3);
  const next = bucket.nextAt(start, 3);
  assert.equal(next, start + 334);
  assert.equal(bucket.available(next - 1, 3), 0);
  assert.equal(bucket.available(next, 3), 1);
  assert.equal(bucket.nextAt(next, 3), next);
});

test('an empty bucket has its next token later than now, even with almost a whole one', () => {
  for (let rate = 1; rate <= 50; rate += 1) {
    const bucket = emptied(rate);
    for (let now = start + 1; now <= start + 1_000; now += 1)
      if (bucket.available(now, rate) > 0) bucket.take(now, rate);
      else assert.ok(bucket.nextAt(now, rate) > now, `${rate} a second, after ${now - start} ms`);
  }
});

test('a bucket below zero waits until it is refilled', () => {
  const bucket = emptied(2);
  bucket.take(start, 2);
  assert.equal(bucket.nextAt(start, 2), start + 1_000);
});

test('a clock that is set back adds no token, and later ones are added as before', () => {
  const bucket = emptied(10);
  const back = start - 3_600_000;
  assert.equal(bucket.available(back, 10), 0);
  assert.equal(bucket.nextAt(back, 10), back + 100);
  assert.equal(bucket.available(back + 200, 10), 2);
});

test('a changed rate applies at once', () => {
  const bucket = emptied(10);
  assert.equal(bucket.nextAt(start, 1), start + 1_000);
  assert.equal(bucket.available(start + 100_000, 1), 1);
  assert.equal(bucket.available(start + 101_000, 100), 100);
});

test('no span of time has more tokens than its rate and one second allow', () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
  const random = new Random(seed);
  for (let history = 0; history < 200; history += 1) {
    const rate = random.integer(1, 50);
    const bucket = new TokenBucket();
    let now = start;
    let taken = 0;
    for (let step = 0; step < 300; step += 1) {
      now += random.integer(0, 60);
      if (bucket.available(now, rate) > 0) {
        bucket.take(now, rate);
        taken += 1;
      } else assert.ok(bucket.nextAt(now, rate) > now, `seed ${seed}, history ${history}`);
      const most = rate + ((now - start) * rate) / 1_000;
      assert.ok(taken <= most + 1e-6, `seed ${seed}, history ${history}: ${taken} of ${most}`);
    }
  }
});
