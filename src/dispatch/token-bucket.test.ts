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

test('a new one has the tokens of one second, and one at least', () => {
  assert.equal(new TokenBucket().available(start, 10), 10);
  assert.equal(new TokenBucket().available(start, 0.2), 1);
});

test('so many tokens come in a second, evenly', () => {
  const bucket = emptied(10);
  assert.equal(bucket.available(start, 10), 0);
  assert.equal(bucket.available(start + 99, 10), 0);
  assert.equal(bucket.available(start + 100, 10), 1);
  bucket.take(start + 100, 10);
  assert.equal(bucket.available(start + 400, 10), 3);
});

test('no more than those of one second are kept, however long nothing is taken', () => {
  const bucket = emptied(10);
  assert.equal(bucket.available(start + 999, 10), 9);
  assert.equal(bucket.available(start + 86_400_000, 10), 10);
});

test('it says when the next token comes: now if there is one', () => {
  const bucket = emptied(3);
  const next = bucket.nextAt(start, 3);
  assert.equal(next, start + 334);
  assert.equal(bucket.available(next - 1, 3), 0);
  assert.equal(bucket.available(next, 3), 1);
  assert.equal(bucket.nextAt(next, 3), next);
});

test('while there is none, the next one comes later than now, though parts of one add up to almost one', () => {
  for (let rate = 1; rate <= 50; rate += 1) {
    const bucket = emptied(rate);
    for (let now = start + 1; now <= start + 1_000; now += 1)
      if (bucket.available(now, rate) > 0) bucket.take(now, rate);
      else assert.ok(bucket.nextAt(now, rate) > now, `${rate} a second, after ${now - start} ms`);
  }
});

test('one that has lent tokens waits until they are paid back', () => {
  const bucket = emptied(2);
  bucket.take(start, 2);
  assert.equal(bucket.nextAt(start, 2), start + 1_000);
});

test('a clock that is set back gives no token, and from then on they come as before', () => {
  const bucket = emptied(10);
  const back = start - 3_600_000;
  assert.equal(bucket.available(back, 10), 0);
  assert.equal(bucket.nextAt(back, 10), back + 100);
  assert.equal(bucket.available(back + 200, 10), 2);
});

test('a rate that is changed holds from then on', () => {
  const bucket = emptied(10);
  assert.equal(bucket.nextAt(start, 1), start + 1_000);
  assert.equal(bucket.available(start + 100_000, 1), 1);
  assert.equal(bucket.available(start + 101_000, 100), 100);
});

test('at whatever times it is asked, no span has more tokens than its seconds and one more give', () => {
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
