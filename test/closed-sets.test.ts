import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type {
  AttemptFailedEvent,
  DeliveryExhaustedEvent,
  EndpointDisabledEvent,
  EndpointCertificateExpiringEvent,
  EndpointFailingEvent,
  EndpointRecoveredEvent,
  WebhookEvent,
} from '../kit/src/webhook-event.ts';
import { keyScopes } from '../src/access/caller.ts';
import {
  eventKinds,
  operationalEventKinds,
  recordEventKinds,
  kindForReceivers,
} from '../src/events/event.ts';
import { challengeKind } from '../src/sending/challenge.ts';
import { operationalTypes } from '../src/http/schemas/event-schemas.ts';
import { isJsonObject } from '../src/base/json.ts';

/** The kinds of events that the types of the kit know. */
const kitKinds = Object.keys({
  'record.create': true,
  'record.update': true,
  'record.delete': true,
  'endpoint.failing': true,
  'endpoint.disabled': true,
  'endpoint.recovered': true,
  'endpoint.certificate_expiring': true,
  'delivery.exhausted': true,
  'attempt.failed': true,
  ping: true,
  'endpoint.verify': true,
} satisfies Record<WebhookEvent['event'], true>);

/** The members that the types of the kit give the data of each event about endpoints. */
const kitMembers = {
  'endpoint.failing': { id: '', url: '', reason: '' } satisfies EndpointFailingEvent['data'],
  'endpoint.disabled': { id: '', url: '', reason: '' } satisfies EndpointDisabledEvent['data'],
  'endpoint.recovered': { id: '', url: '' } satisfies EndpointRecoveredEvent['data'],
  'endpoint.certificate_expiring': {
    id: '',
    url: '',
    fingerprint: '',
    expires: '',
  } satisfies EndpointCertificateExpiringEvent['data'],
  'delivery.exhausted': {
    delivery: '',
    event: '',
    endpoint: '',
    cause: '',
  } satisfies DeliveryExhaustedEvent['data'],
  'attempt.failed': {
    delivery: '',
    event: '',
    endpoint: '',
    cause: '',
  } satisfies AttemptFailedEvent['data'],
};

describe('the kit', () => {
  test('has a type for every kind of event that the service sends, and for no other', () => {
    // The body of a test names the kind that it tests.
    const sent = eventKinds.filter((kind) => kind !== 'test').map(kindForReceivers);
    // It is in no log, as nothing has happened.
    assert.deepEqual(kitKinds.toSorted(), [...new Set([...sent, challengeKind])].toSorted());
  });

  test('types the data of events about endpoints as the service sends it', () => {
    assert.deepEqual(membersOfEvents(), entriesOf(kitMembers));
  });
});

describe('the manual', () => {
  test('explains every scope of an API key in docs/keys.md', () => {
    const rows = rowsOf('docs/keys.md', '| scope ');
    assert.deepEqual(rows.map(firstName).toSorted(), keyScopes.toSorted());
  });

  test('lists the data of every event about endpoints in docs/webhooks-reference.md', () => {
    const rows = rowsOf('docs/webhooks-reference.md', '| event                           | `data`').map(
      (row) => namesIn(row),
    );
    assert.deepEqual(
      Object.fromEntries(rows.map(([kind = '', ...members]) => [kind, members])),
      membersOfEvents(),
    );
  });

  test('names every kind that an endpoint may subscribe to in docs/webhooks-reference.md', () => {
    const row = readFileSync(path('docs/webhooks-reference.md'), 'utf8')
      .split('\n')
      .find((line) => line.startsWith('| `events` '));
    assert.deepEqual(namesIn(row ?? '').slice(1), [...recordEventKinds, ...operationalEventKinds]);
  });
});

function membersOfEvents(): Readonly<Record<string, readonly string[]>> {
  const events = operationalTypes('k2m9x4q7w1z8b5n').map(({ type, example }) => [
    type,
    isJsonObject(example) ? example['data'] : undefined,
  ]);
  return entriesOf(Object.fromEntries(events));
}

function entriesOf(table: Readonly<Record<string, object>>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(table).map(([kind, data]) => [kind, Object.keys(data)]));
}

function path(page: string): URL {
  return new URL(`../${page}`, import.meta.url);
}

/** Returns the rows of the only table of a page whose first line begins so. */
function rowsOf(page: string, head: string): readonly string[] {
  const [, table = '', ...more] = readFileSync(path(page), 'utf8').split(`\n${head}`);
  assert.deepEqual([table === '', more], [false, []], `${page} has one table that begins with "${head}"`);
  return (table.split('\n\n')[0] ?? '').split('\n').slice(2);
}

function namesIn(row: string): readonly string[] {
  return [...row.matchAll(/`([\w.:]+)`/g)].map(([, name = '']) => name);
}

function firstName(row: string): string {
  return namesIn(row)[0] ?? '';
}
