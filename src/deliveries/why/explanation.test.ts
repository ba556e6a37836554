import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ExplainedEvent, messageOf, reasonOfSettings, reasons } from './explanation.ts';

test('an undecided event of an account’s endpoint has the reason undecided, whatever its filter', () => {
  const event: ExplainedEvent = {
    position: 7,
    id: 'event',
    kind: 'record.create',
    collection: 'posts',
    record: 'record',
    created: '2026-11-20 09:35:20.114Z',
    isExpunged: false,
  };
  const settings = {
    id: 'endpoint',
    created: '2026-11-20 09:00:00.000Z',
    events: ['record.create'],
    collections: [],
    owner: 'users/mia',
    transitions: false,
  } as const;
  const ask = (undecidedAfter: number | undefined, more: object = {}): string | undefined =>
    reasonOfSettings({ ...settings, ...more }, event, { undecidedAfter });
  assert.equal(ask(6), 'undecided');
  assert.equal(ask(7), undefined);
  assert.equal(ask(undefined), undefined);
  assert.equal(ask(6, { owner: '' }), undefined);
  assert.equal(ask(6, { events: ['record.delete'] }), 'other-events');
  assert.equal(ask(6, { created: '2026-11-21 09:00:00.000Z' }), 'made-later');
});

test('each reason has its own message', () => {
  assert.equal(new Set(reasons.map(messageOf)).size, reasons.length);
});
