import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import type { Flags } from '../../src/config/config.ts';
import { HostPool } from '../../src/hosts/host-pool.ts';
import { eventually } from '../support/eventually.ts';
import { issueSuperuserToken } from '../support/issue-superuser-token.ts';
import { startService, type TestAnswer, type TestRequest, type TestService } from '../support/service.ts';

/** The file of a host whose requests can be made to fail by `x-fault`. */
const faultyFile = new URL('faulty-host-worker.ts', import.meta.url);

export interface HostStage extends TestService {
  /** Makes a request as a superuser of the default instance, with a fault in the host. */
  fault(kind: string, asked?: TestRequest & { readonly path?: string }): Promise<TestAnswer>;
}

export interface HostStageOptions {
  readonly threads?: number;
  readonly heapMbMax?: number;
  readonly flags?: Flags;
  /** A directory of an earlier service, which has the collection. */
  readonly data?: string;
}

/** A service whose instances are run by threads, with a collection `posts`. */
export async function startHosts(
  t: TestContext,
  { threads = 2, heapMbMax, flags: more = {}, data }: HostStageOptions = {},
): Promise<HostStage> {
  const flags = { 'host-threads': String(threads), 'query-timeout': '1', ...more };
  const parts = { hostThreads: { file: faultyFile, ...(heapMbMax !== undefined && { heapMbMax }) } };
  const service = await startService(t, { flags, parts, ...(data !== undefined && { data }) });
  const body = {
    name: 'posts',
    listRule: '',
    viewRule: '',
    createRule: '',
    fields: [{ name: 'title', type: 'text' }],
  };
  // The superuser is made by this thread, and the host has to learn of it.
  await eventually('the collection', async () => {
    if (data !== undefined) return (await service.request('/api/settings', { token: true })).status === 200;
    return (await service.request('/api/collections', { method: 'POST', token: true, body })).status === 200;
  });
  return {
    ...service,
    fault: (kind, { path = posts, ...asked } = {}) =>
      service.request(path, { token: true, headers: { 'x-fault': kind }, ...asked }),
  };
}

export const posts = '/api/collections/posts/records';

/** Makes another instance, and returns the token of its superuser. */
export async function addInstance(service: TestService, slug: string): Promise<string> {
  await service.app.data.directory.create(slug, null);
  return service.withInstance(slug, async (instance) => {
    await upsertSuperuser(instance, 'owner@example.com', 'a long password');
    return issueSuperuserToken(instance, 'owner@example.com');
  });
}

/** What runs the instances of a service with threads, of a test that moves them. */
export function poolOf({ app }: TestService): HostPool {
  assert.ok(app.hosts.host instanceof HostPool);
  return app.hosts.host;
}

export function idOf({ app }: TestService, slug: string): string {
  const entry = app.data.directory.findBySlug(slug);
  assert.ok(entry !== undefined);
  return entry.id;
}
