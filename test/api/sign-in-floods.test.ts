// Both engines: sign-ins are counted in memory on one and in rows on the other.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { PasswordHasher } from '../../src/secrets/password.ts';
import { startService, type TestService } from '../support/service.ts';

const email = 'owner@example.com';
const password = 'long enough for all';

interface Attempt {
  readonly from: string;
  readonly instance?: string;
  readonly collection?: string;
  readonly identity?: string;
}

async function setUp(t: TestContext): Promise<TestService> {
  const service = await startService(t, {
    flags: { 'trusted-proxies': '127.0.0.1' },
    parts: { passwords: new PasswordHasher() },
  });
  await service.app.data.directory.create('other', null);
  for (const slug of ['default', 'other'])
    await service.withInstance(slug, (instance) => upsertSuperuser(instance, email, password));
  return service;
}

async function signIn(service: TestService, attempt: Attempt): Promise<number> {
  const { from, instance = 'default', collection = '_superusers', identity = email } = attempt;
  const { status } = await service.request(
    `/i/${instance}/api/collections/${collection}/auth-with-password`,
    {
      method: 'POST',
      headers: { 'x-forwarded-for': from },
      body: { identity, password },
    },
  );
  return status;
}

/** Sends a flood that is more than may wait, and does `work` once the first of it was refused. Returns what that was answered. */
async function during(
  work: () => Promise<readonly number[]>,
  flooder: (number: number) => Promise<number>,
): Promise<ReadonlySet<number>> {
  const refused = Promise.withResolvers<void>();
  let served = 0;
  const flood = Array.from({ length: 160 }, async (_, number) => {
    const status = await flooder(number);
    if (status === 503) refused.resolve();
    else served += 1;
  });
  await refused.promise;
  const statuses = await work();
  const before = served;
  await Promise.all(flood);
  assert.ok(served > before, 'the flood was over before');
  return new Set(statuses);
}

const addressOf = (number: number): string => `198.51.100.${number}`;

test('a flood of sign-ins to one instance, from many addresses, leaves those to another served', async (t) => {
  const service = await setUp(t);
  const others = (): Promise<number[]> =>
    Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        signIn(service, { from: `192.0.2.${index}`, instance: 'other' }),
      ),
    );
  const statuses = await during(others, (number) => {
    const collection = number % 2 === 0 ? '_superusers' : 'users';
    return signIn(service, { from: addressOf(number), collection, identity: `u${number}@example.com` });
  });
  assert.deepEqual(statuses, new Set([200]));
});

test('a flood of sign-ins from one address leaves those from other addresses served', async (t) => {
  const service = await setUp(t);
  const others = (): Promise<number[]> =>
    Promise.all(Array.from({ length: 5 }, (_, index) => signIn(service, { from: `192.0.2.${index}` })));
  const statuses = await during(others, (number) =>
    signIn(service, { from: '198.51.100.1', identity: `u${number}@example.com` }),
  );
  assert.deepEqual(statuses, new Set([200]));
});
