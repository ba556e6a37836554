import { cookies } from 'next/headers';
import PocketBase from 'pocketbase';

export interface Post {
  id: string;
  title: string;
}

const tokenCookie = 'chancery_token';

/** A client for a guest: for pages that are the same for everybody. */
export function guestClient(): PocketBase {
  const client = new PocketBase(process.env.CHANCERY_URL ?? 'http://127.0.0.1:8090');
  // One client serves one request here, and none of its calls replaces another.
  return client.autoCancellation(false);
}

/** A client for whoever sent the request. Never share one between requests: it holds the token of a user. */
export async function userClient(): Promise<PocketBase> {
  const client = guestClient();
  client.authStore.save((await cookies()).get(tokenCookie)?.value ?? '');
  return client;
}

export async function saveToken(token: string): Promise<void> {
  const options = { httpOnly: true, sameSite: 'lax', secure: process.env.NODE_ENV === 'production' } as const;
  (await cookies()).set(tokenCookie, token, options);
}

export async function deleteToken(): Promise<void> {
  (await cookies()).delete(tokenCookie);
}
