import assert from 'node:assert/strict';
import PocketBase, { ClientResponseError } from 'pocketbase';
import type { TestService } from './service.ts';

/** The official SDK, unmodified, signed in as the service's superuser. */
export async function superuserSdk(service: TestService): Promise<PocketBase> {
  const pb = new PocketBase(service.url);
  await pb.collection('_superusers').authWithPassword(service.superuser.email, service.superuser.password);
  return pb;
}

/** Returns the error that the SDK throws for a refusal. */
export async function refusalOf(promise: Promise<unknown>): Promise<ClientResponseError> {
  const outcome = await promise.then(
    () => 'it was answered',
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof ClientResponseError, `expected a refusal: ${String(outcome)}`);
  return outcome;
}
