import { unreachable } from '../base/assert.ts';
import type { JsonObject } from '../base/json.ts';
import type { RequestFacts } from '../rules/request-facts.ts';

/**
 * Who did what, and from where. The map of this folder:
 *
 *   what is done in a transaction ── append ──► a row, in the same transaction: done and written down, or neither
 *   what is done in none, and often ── note ──► tallies in memory ──► one row for all alike in a minute, within a second
 *                                                  (sign-ins, refusals)
 *
 * No entry holds a secret, nor what was typed where one belongs: not even a user name that nobody has, as it may be a password.
 */
export interface AuditEntry {
  readonly action: AuditAction;
  /** `done` where it is not said. */
  readonly outcome?: 'done' | 'refused';
  /** Id of the collection that it was about. */
  readonly collection?: string;
  /** Id of what it was done to: a record, a key, an endpoint. */
  readonly target?: string;
  readonly details?: JsonObject;
}

export const auditActions = [
  'sign-in',
  'impersonate',
  'setup',
  'import',
  'instance.create',
  'superuser.create',
  'superuser.update',
  'superuser.delete',
  'account.update',
  'key.create',
  'key.delete',
  'key.use',
  'collection.create',
  'collection.update',
  'collection.delete',
  'collection.truncate',
  'collection.secrets',
  'settings.update',
  'endpoint.create',
  'endpoint.update',
  'endpoint.delete',
  'endpoint.secret',
] as const;

export type AuditAction = (typeof auditActions)[number];

/** Whoever has the command line is the operator. */
export type Actor = Pick<RequestFacts, 'caller' | 'origin'> | 'operator';

export const actorKinds = ['guest', 'user', 'superuser', 'key', 'operator'] as const;

/** An actor as it is written down. */
export interface WrittenActor {
  readonly kind: (typeof actorKinds)[number];
  readonly id: string;
  readonly address: string;
  readonly requestId: string;
}

export function writtenActor(actor: Actor): WrittenActor {
  if (actor === 'operator') return { kind: 'operator', id: '', address: '', requestId: '' };
  const { caller } = actor;
  const origin = actor.origin?.() ?? { address: '', requestId: '' };
  switch (caller.kind) {
    case 'guest':
      return { kind: 'guest', id: '', ...origin };
    case 'user':
      return { kind: 'user', id: caller.id, ...origin };
    case 'superuser':
      return { kind: caller.key === undefined ? 'superuser' : 'key', id: caller.id, ...origin };
    default:
      return unreachable(caller);
  }
}
