import assert from 'node:assert/strict';
import type { TestService } from './service.ts';

export interface MadeKey {
  readonly id: string;
  /** The key itself, as a program sends it. */
  readonly key: string;
}

/** Makes an API key as the service's superuser. */
export async function makeKey(
  service: TestService,
  scopes: readonly string[],
  more: {
    readonly collections?: readonly string[];
    readonly endpoints?: readonly string[];
    readonly expires?: string;
  } = {},
): Promise<MadeKey> {
  const body = { name: 'test', scopes, ...more };
  const answer = await service.request('/api/keys', { method: 'POST', token: true, body });
  assert.equal(answer.status, 201, answer.text);
  return { id: String(answer.json.id), key: String(answer.json.key) };
}
