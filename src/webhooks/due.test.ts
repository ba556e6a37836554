import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedAgainDue, isOnItsWay, putOffDue, scheduledDue } from './due.ts';

const second = Date.UTC(2026, 10, 20);

test('what is put off is due within the second after its attempt must be over, and is told from what is scheduled', () => {
  for (let ms = 0; ms <= 2_000; ms += 1) {
    const until = second + 17_000 + ms;
    const due = putOffDue(until);
    assert.ok(due >= until && due < until + 1_000, `${due - until} ms`);
    assert.ok(isOnItsWay(due, second));
    assert.ok(isOnItsWay(askedAgainDue(due), second));
    assert.notEqual(askedAgainDue(due), due);
    assert.equal(askedAgainDue(askedAgainDue(due)), askedAgainDue(due));
    const scheduled = scheduledDue(until);
    assert.ok(scheduled >= until && scheduled <= until + 2, `${scheduled - until} ms`);
    assert.equal(isOnItsWay(scheduled, second), false);
  }
});

test('what was put off is on its way until then', () => {
  const due = putOffDue(second + 17_000);
  assert.equal(isOnItsWay(due, due - 1), true);
  assert.equal(isOnItsWay(due, due), false);
});

test('what is due later than an attempt can take waits for its schedule, whatever time that is', () => {
  const due = putOffDue(second + 300_000);
  assert.equal(isOnItsWay(due, second), false);
});
