import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SafeEnd } from '../events/log-horizon.ts';
import type { Reader } from '../storage/database.ts';
import { type EndpointLane, isReadable } from './endpoint-lane.ts';
import type { Look } from './read-due.ts';

/** Reads for one lane in one look: the others wait meanwhile. */
const readsMax = 16;
/** Rows of an instance that are read in one look, and in one turn of the event loop: about 3 ms of them. A statement takes the time of some. */
const rowsOfLookMax = 8_192;
const rowsOfTurnMax = 2_048;
const rowsOfStatement = 64;

interface LanesLook extends Pick<Look, 'now'> {
  readonly safeEnd: Pick<SafeEnd, 'safePosition'>;
  /** Returns the position up to which events are decided for an endpoint of an account, by its number. */
  readonly decidedFor: (endpoint: number) => number;
}

/**
 * Reads ahead for some of the lanes that are awake, in turns: with a thousand of them, one look at all would block this thread and the webhooks of all
 * other instances. The following looks read the others.
 */
export async function readLanesAhead(
  reader: Reader,
  awake: Set<EndpointLane>,
  look: LanesLook,
): Promise<void> {
  let [rows, turnEnds] = [0, rowsOfTurnMax];
  // Those that are read move to the end.
  const lanes = [...awake];
  for (const state of lanes) {
    if (rows >= rowsOfLookMax) return;
    if (!isReadable(state, look.now)) continue;
    rows += await readAhead(reader, state, look);
    if (awake.delete(state)) awake.add(state);
    if (rows < turnEnds) continue;
    turnEnds = rows + rowsOfTurnMax;
    await nextTurn();
  }
}

/** Returns how many rows were read. */
async function readAhead(
  reader: Reader,
  state: EndpointLane,
  { now, safeEnd, decidedFor }: LanesLook,
): Promise<number> {
  const { number, order, owner, batch } = state.endpoint;
  let rows = 0;
  for (let reads = 0; reads < readsMax && isReadable(state, now); reads += 1) {
    // What wakes the lane during a read may be safe only now. A strict order reads nothing beyond, and would not be woken for it again.
    const safe = safeEnd.safePosition;
    const decided = owner === '' ? undefined : decidedFor(number);
    const look = { endpoint: number, now, safe, decided, order, batch };
    rows += rowsOfStatement + (await state.source.read(reader, look));
  }
  return rows;
}
