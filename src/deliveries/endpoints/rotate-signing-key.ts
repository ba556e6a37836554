import { decodeKeyOverlap, rotatedKeys, type SigningKeys } from '../../endpoints/signing-keys.ts';
import { type EndpointSaving, timeOfChange } from './change-endpoint.ts';

/**
 * Rotates the key for asymmetric signatures of an instance, or makes the first one. The previous one signs as well for a while, by default
 * a day, so that receivers get the new public key in between. Throws bad_request.
 */
export async function rotateSigningKey(
  { database, endpoints, clock, onRequest }: EndpointSaving,
  body: Readonly<Record<string, unknown>>,
): Promise<SigningKeys> {
  const overlapMs = decodeKeyOverlap(body);
  return database.write(
    async (tx) => {
      const before = await endpoints.readSigningKeys(tx);
      const keys = rotatedKeys(before, { nowMs: clock.now(), overlapMs });
      await endpoints.saveSigningKeys(tx, keys);
      // The nodes that send to them read what has changed.
      for (const endpoint of await endpoints.all(tx))
        if (endpoint.ed25519)
          await endpoints.update(tx, { ...endpoint, updated: timeOfChange(endpoint, clock) });
      await onRequest?.(tx, { action: 'signing-key.rotate', target: keys.current.id, details: {} });
      return keys;
    },
    { isExclusive: true },
  );
}
