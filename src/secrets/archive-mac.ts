import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { MasterKey } from './master-key.ts';

/** Returns the MAC of what an archive says of itself. Only who has the master key can make one. */
export function archiveMac(masterKey: MasterKey, text: string): string {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'chancery archive v1', 32));
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** Whether a MAC is that of a text. */
export function isArchiveMac(masterKey: MasterKey, text: string, mac: string): boolean {
  const [one, other] = [Buffer.from(archiveMac(masterKey, text)), Buffer.from(mac)];
  return one.length === other.length && timingSafeEqual(one, other);
}
