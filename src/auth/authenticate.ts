import type { Instance } from '../instances/instance.ts';
import { superusersName } from '../instances/system-collections.ts';
import { guest, type Caller } from '../rules/caller.ts';
import { decodeToken, verifyToken, type TokenClaims } from '../secrets/token.ts';
import { findTokenKey } from './find-token-key.ts';

/**
 * Who a request comes from, by its `Authorization` header (`<token>` or `Bearer <token>`). A token that is invalid, expired,
 * of another kind or of another instance makes a guest, not an error: public routes stay public for everyone.
 */
export async function authenticate(instance: Instance, header: string | undefined): Promise<Caller> {
  if (header === undefined || header === '') return guest;
  const claims = await verifyAuthToken(instance, header);
  if (claims === undefined) return guest;
  return { kind: 'superuser', id: String(claims['id']) };
}

/** The claims of a valid superuser token, or undefined. */
export async function verifyAuthToken(instance: Instance, header: string): Promise<TokenClaims | undefined> {
  const token = /^bearer /i.test(header) ? header.slice('bearer '.length) : header;
  const claims = decodeToken(token);
  if (claims === undefined || claims['type'] !== 'auth') return undefined;
  const { id, collectionId } = claims;
  if (typeof id !== 'string' || typeof collectionId !== 'string') return undefined;
  const collection = instance.collections.find(superusersName);
  if (collection === undefined || collection.id !== collectionId) return undefined;
  const key = await findTokenKey(instance, collection, { record: id, kind: 'authToken' });
  return key === undefined ? undefined : verifyToken(token, key, Math.floor(instance.clock.now() / 1000));
}
