import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterSeconds } from './attempt.ts';

const now = Date.parse('2026-11-20T09:35:20.000Z');

test('W-30: seconds and dates are read, and an hour is the most', () => {
  assert.equal(retryAfterSeconds('0', now), 0);
  assert.equal(retryAfterSeconds(' 120 ', now), 120);
  assert.equal(retryAfterSeconds('3601', now), 3_600);
  assert.equal(retryAfterSeconds('1000000000', now), 3_600);
  assert.equal(retryAfterSeconds('9'.repeat(400), now), 3_600);
  assert.equal(retryAfterSeconds('Fri, 20 Nov 2026 09:36:20 GMT', now), 60);
  assert.equal(retryAfterSeconds('Fri, 20 Nov 2026 09:00:00 GMT', now), 0);
  assert.equal(retryAfterSeconds('Fri, 20 Nov 2099 09:00:00 GMT', now), 3_600);
});

test('W-30: each form of a date means GMT, wherever the machine is', (t) => {
  const ofMachine = process.env['TZ'];
  t.after(() => {
    if (ofMachine === undefined) delete process.env['TZ'];
    else process.env['TZ'] = ofMachine;
  });
  for (const zone of ['UTC', 'America/New_York', 'Asia/Tokyo']) {
    process.env['TZ'] = zone;
    assert.equal(retryAfterSeconds('Fri, 20 Nov 2026 09:36:20 GMT', now), 60, zone);
    assert.equal(retryAfterSeconds('Friday, 20-Nov-26 09:36:20 GMT', now), 60, zone);
    assert.equal(retryAfterSeconds('Fri Nov 20 09:36:20 2026', now), 60, zone);
    assert.equal(retryAfterSeconds('Fri Nov  6 09:36:20 2026', now), 0, zone);
  }
});

test('W-30: an invalid Retry-After is ignored', () => {
  for (const text of [undefined, '', '-5', '1.5', '1e9', 'soon', '2026-11-20', 'Friday?']) {
    assert.equal(retryAfterSeconds(text, now), null, String(text));
  }
});
