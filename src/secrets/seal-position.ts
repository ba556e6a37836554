import type { CursorSealer } from '../query/list-source.ts';
import { SecretError } from './master-key.ts';
import type { Sealer, SealPlace } from './seal.ts';

const place = { purpose: 'feed-cursor', id: '' };

/** Seals a position of an instance's event log into a cursor, by which a client goes on reading there. */
export function sealPosition(sealer: Sealer, position: number): string {
  return sealer.seal(String(position), place);
}

/** Returns the position of a cursor; undefined for a text that is no cursor of this instance. */
export function openPosition(sealer: Sealer, cursor: string): number | undefined {
  const text = openOrNothing(sealer, cursor, place);
  return text === undefined ? undefined : Number(text);
}

/** Returns what seals the cursors of one list: with any other filter, order or caller among `bound`, a position means nothing. */
export function cursorsOfList(sealer: Sealer, bound: readonly unknown[]): CursorSealer {
  const ofList = { purpose: 'cursor', id: JSON.stringify(bound) };
  return {
    seal: (position) => sealer.seal(position, ofList),
    open: (cursor) => openOrNothing(sealer, cursor, ofList),
  };
}

function openOrNothing(sealer: Sealer, cursor: string, at: SealPlace): string | undefined {
  try {
    return sealer.open(cursor, at);
  } catch (error) {
    if (error instanceof SecretError) return undefined;
    throw error;
  }
}
