import { unreachable } from '../base/assert.ts';
import { mayTell, type PastTelling } from '../events/may-tell.ts';
import type { Collection } from '../collections/collection.ts';
import { unlessBroken } from '../access/rule.ts';
import { constantOf } from '../filters/compile/compile.ts';
import type { Instance } from '../instances/instance.ts';
import { eventRecord } from '../records/event-record.ts';
import { findRecord } from '../records/find-record.ts';
import type { StoredRecord } from '../records/record.ts';
import { type Audience, brokenIfRefused, conditionFor, evaluateAll, jsonFor } from './audience.ts';
import {
  type ChangeMessage,
  leaveById,
  matchesBefore,
  maySeeBy,
  resync,
  stateBefore,
  updateAction,
} from './change-messages.ts';
import type { Change } from './read-changes.ts';

/** Neither the event nor the table has the state of a record at a change any more. */
export class UnknownState extends Error {
  constructor() {
    super('The state of a record at a change is not known any more.');
  }
}

interface MissedChange {
  readonly collection: Collection;
  readonly change: Change;
}

/**
 * Returns the message about a missed change for an audience that is no superuser; undefined where it gets none. Each record is sent as it is
 * now, so an update that another change has followed is left out. A client that comes back thus ends with the same records as one that
 * stayed. Throws UnknownState.
 */
export async function pastMessage(
  instance: Instance,
  audience: Audience,
  { collection, change }: MissedChange,
): Promise<ChangeMessage | undefined> {
  const { database } = instance;
  const { action, revision, record: id } = change;
  const isDelete = action === 'delete';
  const now = isDelete ? undefined : await findRecord(database, collection, id);
  if (action === 'update' && audience.topic.transitions)
    return pastUpdate(instance, audience, { collection, change, now });
  if (action === 'update' && now?.revision !== revision) return undefined;
  const condition = await conditionFor(instance, audience, collection);
  const atChange = eventRecord(collection, change);
  const disclosure = await unlessBroken<PastTelling>(instance, 'nothing', async () => {
    try {
      return await mayTell(database, { condition }, { collection, isDelete, revision, atChange, now });
    } catch (error) {
      throw brokenIfRefused(error, collection);
    }
  });
  switch (disclosure) {
    case 'nothing':
      return undefined;
    case 'id':
      return { action, json: JSON.stringify({ id }) };
    case 'present':
      return now && present(instance, audience, { action, now });
    case 'unknown':
      throw new UnknownState();
    default:
      return unreachable(disclosure);
  }
}

async function present(
  instance: Instance,
  audience: Audience,
  { action, now }: { readonly action: ChangeMessage['action']; readonly now: StoredRecord },
): Promise<ChangeMessage | undefined> {
  const json = await unlessBroken(instance, undefined, () => jsonFor(instance, audience, now));
  return json === undefined ? undefined : { action, json };
}

/**
 * Returns the message about a missed update for a subscription with transitions. An enter or a leave is sent although other changes have
 * followed, as a later update alone does not show it: an enter while the record matches now, and a leave, by the id, while it does not.
 */
async function pastUpdate(
  instance: Instance,
  audience: Audience,
  { collection, change, now }: MissedChange & { readonly now: StoredRecord | undefined },
): Promise<ChangeMessage | undefined> {
  const isLatest = now?.revision === change.revision;
  const after = eventRecord(collection, change) ?? (isLatest ? now : undefined);
  const conditions = [await conditionFor(instance, audience, collection)];
  if (conditions.every((condition) => constantOf(condition) === false)) return undefined;
  if (after === undefined) throw new UnknownState();
  const before = await stateBefore(instance, collection, change);
  const [isMatch = false] = await evaluateAll(instance, after, conditions);
  const [wasMatch] = await matchesBefore(instance, before, conditions);
  const [isMatchNow = false] = now === undefined ? [] : await evaluateAll(instance, now, conditions);
  const action = updateAction(isMatch, wasMatch);
  if (action === 'leave') {
    if (isMatchNow) return undefined;
    const isKnown = before !== undefined || (now && (await maySeeBy(instance, [audience], now)).length > 0);
    return isKnown === true ? leaveById(change.record) : resync;
  }
  const isSent = isMatchNow && (action === 'enter' || (action === 'update' && isLatest));
  return now && action && isSent ? present(instance, audience, { action, now }) : undefined;
}
