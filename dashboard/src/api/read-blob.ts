import type PocketBase from 'pocketbase';
import { ClientResponseError } from 'pocketbase';
import { apiUrl, Failure } from './client.ts';

/** Reads an answer that is no JSON with the token of a client. Throws Failure. */
export async function readBlob(sender: PocketBase, path: string, signal?: AbortSignal): Promise<Blob> {
  const url = `${apiUrl}${path}`;
  const headers = { Authorization: sender.authStore.token };
  const response = await fetch(url, { headers, ...(signal !== undefined && { signal }) });
  if (response.ok) return response.blob();
  const data: unknown = await response.json().catch(() => ({}));
  throw new Failure(new ClientResponseError({ url, status: response.status, data }));
}
