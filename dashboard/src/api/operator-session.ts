import PocketBase, { BaseAuthStore } from 'pocketbase';
import { useSyncExternalStore } from 'react';
import { apiUrl, basePath, type CallOptions, callBy, orFailure, watchAnswers } from './client.ts';
import { readBlob } from './read-blob.ts';
import type { Operations, Schemas } from './schema.ts';

/** What an operator key may do, as `GET /api/operator/keys/current` says. */
export type OperatorKey = Schemas['OperatorKey'];
export type OperatorScope = OperatorKey['scopes'][number];

/** A client of its own: the operator's key is no credential of an instance, nor a superuser's token one of the operator. */
const client = new PocketBase(apiUrl, new BaseAuthStore());
const expired = watchAnswers(client);

/** It lasts as long as the tab, and no other tab has it. */
const storageKey = `chancery:${basePath}:operator`;

interface Kept {
  readonly key: string;
  readonly known: OperatorKey;
}

restore();

function restore(): void {
  try {
    // Written by signInAsOperator.
    const { key, known } = JSON.parse(sessionStorage.getItem(storageKey) ?? '{}') as Partial<Kept>;
    if (key !== undefined && known !== undefined) keep(key, known);
  } catch {
    // Forbidden, or written by something else.
  }
}

/** The store of the SDK keeps a record beside the token; that of a key is what the key may do. */
function keep(key: string, known: OperatorKey): void {
  client.authStore.save(key, { ...known, collectionId: '', collectionName: '' });
}

/** Signs in with an operator key, which the service is asked about first. Throws Failure. */
export async function signInAsOperator(text: string): Promise<void> {
  const key = text.trim();
  if (!/^co_\w+$/.test(key)) throw new Error('Operator keys start with co_.');
  const headers = { Authorization: key };
  const known = await orFailure(client.send<OperatorKey>('/api/operator/keys/current', { headers }));
  keep(key, known);
  try {
    sessionStorage.setItem(storageKey, JSON.stringify({ key, known } satisfies Kept));
  } catch {
    // Forbidden: the session then lasts as long as the page.
  }
}

export function signOutOperator(): void {
  client.authStore.clear();
  try {
    sessionStorage.removeItem(storageKey);
  } catch {
    // Nothing is there either.
  }
}

/** The key that is signed in; undefined for none. */
export function useOperatorKey(): OperatorKey | undefined {
  return useSyncExternalStore((onChange) => client.authStore.onChange(onChange), currentKey);
}

export function currentKey(): OperatorKey | undefined {
  // Saved by signInAsOperator.
  return client.authStore.token === '' ? undefined : (client.authStore.record as unknown as OperatorKey);
}

/** Whether the key may do what a scope covers. The service decides; this is for what is shown. */
export function mayOperate(scope: OperatorScope): boolean {
  const scopes = currentKey()?.scopes ?? [];
  return scopes.includes(scope) || scopes.includes('admin');
}

/** Calls `work` when the service takes the key no more, which is forgotten then. Returns what stops it. */
export function onOperatorExpired(work: () => void): () => void {
  const forget = (): void => {
    if (currentKey() === undefined) return;
    signOutOperator();
    work();
  };
  expired.addEventListener('expired', forget);
  return () => expired.removeEventListener('expired', forget);
}

/** Calls an operation with the operator's key. Throws Failure. */
export async function callOperator<Key extends keyof Operations>(
  key: Key,
  options: CallOptions<Key> = {},
): Promise<Operations[Key]['answer']> {
  return callBy(client, key, options);
}

/** Reads an archive of an instance as it is now. Throws Failure. */
export async function readArchive(instance: string, signal: AbortSignal): Promise<Blob> {
  return readBlob(client, `/api/operator/instances/${encodeURIComponent(instance)}/archive`, signal);
}
