import { unreachable } from '../base/assert.ts';
import type { JsonObject } from '../base/json.ts';
import type { RequestFacts } from '../rules/request-facts.ts';

/**
 * Who did what, and from where. The map of this folder:
 *
 *   done in a transaction ── append ──► a row in the same transaction: both are committed, or neither
 *   done in none, and often ── note ──► tallies in memory ──► one row for all equal ones in a minute, written within a second
 *     (sign-ins, refusals)
 *
 * No entry holds a secret, nor anything typed that may be one: not even an unknown user name, which may be a misplaced password.
 */
export interface AuditEntry {
  readonly action: AuditAction;
  /** `done` when absent. */
  readonly outcome?: 'done' | 'refused';
  /** Id of the collection that the action was about. */
  readonly collection?: string;
  /** Id of the record, key or endpoint that was acted on. */
  readonly target?: string;
  readonly details?: JsonObject;
}

export const auditActions = [
  'sign-in',
  'impersonate',
  'setup',
  'import',
  'instance.create',
  'instance.loss',
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

/** Who acted: a caller, or the operator, which is anyone with the command line. */
export type Actor = Pick<RequestFacts, 'caller' | 'origin'> | 'operator';

export const actorKinds = ['guest', 'user', 'superuser', 'key', 'operator'] as const;

/** An actor as stored in an entry. */
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
