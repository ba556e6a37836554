import type { Instance } from '../instances/instance.ts';
import { guest, type Caller } from '../rules/caller.ts';
import { callerOfKey, isApiKey } from './caller-of-key.ts';
import { callerOf } from './caller-of.ts';
import { verifyRecordToken } from './verify-record-token.ts';

/**
 * Who a request comes from, by its `Authorization` header (`<token>` or `Bearer <token>`). A token that is invalid, expired,
 * of another kind or of another instance makes a guest, not an error: public routes stay public for everyone. Throws unauthorized
 * for an API key that is none.
 */
export async function authenticate(instance: Instance, header: string | undefined): Promise<Caller> {
  if (header === undefined || header === '') return guest;
  const token = tokenOf(header);
  if (isApiKey(token)) return callerOfKey(instance, token);
  const verified = await verifyRecordToken(instance, token, { kind: 'authToken' });
  return verified === undefined ? guest : callerOf(verified.collection, verified.id);
}

/** The token in the header. */
export function tokenOf(header: string): string {
  return /^bearer /i.test(header) ? header.slice('bearer '.length) : header;
}
