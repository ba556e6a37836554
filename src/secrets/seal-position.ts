import { SecretError } from './master-key.ts';
import type { Sealer } from './seal.ts';

const place = { purpose: 'feed-cursor', id: '' };

/** Seals a position of an instance's event log into a cursor, by which a client goes on reading there. */
export function sealPosition(sealer: Sealer, position: number): string {
  return sealer.seal(String(position), place);
}

/** Returns the position of a cursor; undefined for a text that is no cursor of this instance. */
export function openPosition(sealer: Sealer, cursor: string): number | undefined {
  try {
    return Number(sealer.open(cursor, place));
  } catch (error) {
    if (error instanceof SecretError) return undefined;
    throw error;
  }
}
