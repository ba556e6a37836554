import type { Batch, PendingDelivery } from '../deliveries/deliveries.ts';
import type { Reader } from '../storage/database.ts';
import { readMembers } from './batch-members.ts';
import { type EndpointLane, roomAt } from './endpoint-lane.ts';
import type { Turn } from './slots.ts';

/** A turn for one delivery, with its row as it was read; undefined when it is over. */
interface SingleTurn {
  readonly turn: Turn;
  readonly pending: PendingDelivery | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Claims the delivery of a turn in its lane. Returns whether it is sent, or settled without an attempt; undefined if it cannot be claimed now. */
export function claimTurn(
  state: EndpointLane,
  { turn, pending, now }: SingleTurn,
): 'send' | 'settle' | undefined {
  const { source } = state;
  if (!state.isActive || source.isClaimed(turn.event)) return undefined;
  if (pending === undefined) {
    source.release(turn.event);
    return undefined;
  }
  // The lane may have closed, or another been opened for the endpoint, while the delivery was read.
  if (roomAt(state, now) === 0) {
    source.putBack(turn);
    return undefined;
  }
  if (!isDue(state, pending, now)) return undefined;
  source.claim(turn.event);
  if (pending.disposition !== 'send') return 'settle';
  open(state, pending.id, now);
  return 'send';
}

/** It may have been read before a failure that postponed the delivery was settled, or the clock was set back. */
function isDue({ source }: EndpointLane, { key, state: { due } }: PendingDelivery, now: number): boolean {
  if (due === undefined || due <= now) return true;
  // The read counted it as due already, so nothing else would wake the lane for it.
  source.nextDue = Math.min(source.nextDue ?? due, due);
  source.release(key.event);
  return false;
}

function open({ lane, bucket, time, endpoint }: EndpointLane, attempt: string, now: number): void {
  lane.send(attempt, now);
  if (endpoint.rateLimit > 0) bucket.take(now, endpoint.rateLimit);
  time.note(1, now);
}

/** Narrows a turn for a batch to the deliveries that one request may send, before their bodies are read. */
export async function narrowTurn(
  reader: Reader,
  { source, endpoint }: EndpointLane,
  { turn, bytesMax }: { readonly turn: Turn; readonly bytesMax: number },
): Promise<void> {
  const { batch } = turn;
  if (batch === undefined) return;
  const events = await readMembers(reader, { endpoint: endpoint.number, batch, bytesMax });
  if (batch.id === '' && events.length < batch.events.length)
    source.putBack({ ...turn, batch: { id: '', events: batch.events.slice(events.length) } });
  batch.events = events;
}

/** The deliveries of a turn for a batch that were claimed. */
export interface ClaimedBatch {
  /** Those that are sent; none where all are settled without an attempt. */
  readonly members: readonly PendingDelivery[];
  /** The batch if they are the members of one that was sent before. */
  readonly batch: Batch | undefined;
  /** Those that are settled without an attempt. */
  readonly unsent: readonly PendingDelivery[];
}

interface BatchTurn {
  readonly turn: Turn;
  readonly pendings: readonly PendingDelivery[];
  /** The id of the attempt. */
  readonly attempt: string;
  readonly now: number;
}

/** As {@link claimTurn}, for a batch. */
export function claimBatch(
  state: EndpointLane,
  { turn, pendings, attempt, now }: BatchTurn,
): ClaimedBatch | undefined {
  const { source } = state;
  const { id = '', events = [] } = turn.batch ?? {};
  // An open attempt of its batch has them, or the lane was closed.
  if (!state.isActive || events.some((event) => source.isClaimed(event))) return undefined;
  const byEvent = new Map(pendings.map((pending) => [pending.key.event, pending]));
  for (const event of events) if (!byEvent.has(event)) source.release(event);
  const rows = events.flatMap((event) => byEvent.get(event) ?? []);
  if (roomAt(state, now) === 0) {
    source.putBack({ ...turn, batch: { id, events: rows.map(({ key }) => key.event) } });
    return undefined;
  }
  const size = rows[0]?.batch?.size;
  const isWhole =
    id !== '' && rows.length === size && rows.every(({ disposition }) => disposition === 'send');
  // A batch is due with the first of its members.
  const isBatchDue = isWhole && rows.some(({ state: { due } }) => due === undefined || due <= now);
  const due = isBatchDue ? rows : rows.filter((pending) => isDue(state, pending, now));
  const unsent = due.filter(({ disposition }) => disposition !== 'send');
  const sendable = due.filter(({ disposition }) => disposition === 'send');
  const members = isBatchDue ? sendable : sendable.slice(0, alikeCount(sendable));
  const rest = sendable.slice(members.length);
  for (const { key, state: before } of rest.toReversed())
    source.putBack({ event: key.event, isRetry: before.due !== undefined });
  for (const { key } of [...unsent, ...members]) source.claim(key.event);
  if (members.length > 0) open(state, attempt, now);
  return { members, unsent, batch: isBatchDue && size !== undefined ? { id, size } : undefined };
}

/** Returns how many of these, from the first on, have as many attempts as it: they have the same schedule from now on. */
function alikeCount(pendings: readonly PendingDelivery[]): number {
  const [first] = pendings;
  const end = pendings.findIndex(({ state }) => state.attempts !== first?.state.attempts);
  return end === -1 ? pendings.length : end;
}
