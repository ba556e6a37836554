import assert from 'node:assert/strict';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import type { DataDirectory } from '../../src/open-data-directory.ts';
import { eventually } from './eventually.ts';
import { issueSuperuserToken } from './issue-superuser-token.ts';
import type { TestService } from './service.ts';

/** Makes an instance with a collection that everybody may use, and with an endpoint if there is a URL for it. */
export async function makeInstance(
  service: TestService,
  slug: string,
  endpoint?: Readonly<Record<string, unknown>>,
): Promise<void> {
  await service.app.data.directory.create(slug, null);
  const token = await service.withInstance(slug, async (instance) => {
    await upsertSuperuser(instance, 'root@example.com', 'correct horse');
    return issueSuperuserToken(instance, 'root@example.com');
  });
  const call = async (path: string, body: object): Promise<void> => {
    const answer = await service.request(`/i/${slug}${path}`, { method: 'POST', token, body });
    assert.equal(answer.status < 300, true, answer.text);
  };
  await call('/api/collections', { name: 'posts', listRule: '', createRule: '', fields: [] });
  if (endpoint !== undefined) await call('/api/webhooks/endpoints', endpoint);
}

export async function addPost(service: Pick<TestService, 'request'>, slug: string): Promise<void> {
  const path = `/i/${slug}/api/collections/posts/records`;
  const answer = await service.request(path, { method: 'POST', body: {} });
  assert.equal(answer.status, 201, answer.text);
}

/** The slugs of the instances that are open. */
export function openSlugs({ directory, instances }: DataDirectory): readonly string[] {
  return instances
    .openIds()
    .map((id) => directory.find(id)?.slug ?? id)
    .toSorted();
}

/** Closes an instance as soon as nobody uses it. */
export async function closeInstance({ directory, instances }: DataDirectory, slug: string): Promise<void> {
  const id = directory.findBySlug(slug)?.id ?? '';
  await eventually(`${slug} is closed`, () => {
    instances.closeIdle(id);
    return !instances.isOpen(id);
  });
  await instances.closed(id);
}
