import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import { readIpAddress } from '../base/ip-address.ts';
import { SignInGuard, signInLimits } from './sign-in-guard.ts';

const { accountFromClientMax, clientMax, accountMax, windowMs } = signInLimits;

type Outcome = 'right' | 'wrong' | 'busy' | number;

interface Trial {
  readonly names?: readonly string[];
  readonly account?: string;
  readonly from?: string;
  readonly nowMs?: number;
}

/** What becomes of a sign-in: as it was told to end, or the seconds after which to try again. */
async function attempt(
  guard: SignInGuard,
  ends: 'right' | 'wrong' | 'busy',
  { names = [], account = 'a', from = '192.0.2.1', nowMs = 0 }: Trial = {},
): Promise<Outcome> {
  const address = readIpAddress(from)!;
  const signIn = async (): Promise<Outcome> => {
    if (ends === 'right') return 'right';
    throw new AppError(ends === 'wrong' ? 'bad_request' : 'unavailable', ends);
  };
  try {
    const instance = { id: 'i', dueClock: { now: () => nowMs, monotonic: () => nowMs }, windows: undefined };
    return await guard.run({ instance, accounts: [...names, account], address }, signIn);
  } catch (error) {
    assert.ok(error instanceof AppError);
    if (error.code !== 'too_many_requests') return ends;
    assert.equal(error.message, 'Too Many Requests.');
    return error.retryAfter ?? Number.NaN;
  }
}

async function fail(
  guard: SignInGuard,
  count: number,
  trialOf: (index: number) => Trial = () => ({}),
): Promise<void> {
  for (let index = 0; index < count; index += 1)
    assert.equal(await attempt(guard, 'wrong', trialOf(index)), 'wrong', `${index}`);
}

test('A-15 the guesses of one client at an account are limited per window; other clients are not shut out', async () => {
  const guard = new SignInGuard();
  await fail(guard, accountFromClientMax);
  assert.equal(await attempt(guard, 'right', { nowMs: 1_000 }), windowMs / 1_000 - 1);
  assert.equal(await attempt(guard, 'right', { from: '192.0.2.2' }), 'right');
  assert.equal(await attempt(guard, 'right', { account: 'b' }), 'right');
  assert.equal(await attempt(guard, 'right', { nowMs: windowMs }), 'right');
});

test('A-16 one client tries so many accounts in a window and no more, whatever it signs in to between', async () => {
  const guard = new SignInGuard();
  for (let count = 0; count < clientMax; count += 1) {
    assert.equal(await attempt(guard, 'wrong', { account: `${count}`, from: '2001:db8::1' }), 'wrong');
    if (count % 10 === 0)
      assert.equal(await attempt(guard, 'right', { account: 'own', from: '2001:db8::1' }), 'right');
  }
  assert.equal(await attempt(guard, 'wrong', { account: 'x', from: '2001:db8::2' }), windowMs / 1_000);
  assert.equal(await attempt(guard, 'wrong', { account: 'x', from: '2001:db8:0:1::1' }), 'wrong');
});

test('many clients guess an account so often and no more, and its owner still signs in from where he did before', async () => {
  const guard = new SignInGuard();
  const owner = { from: '203.0.113.1' };
  assert.equal(await attempt(guard, 'right', owner), 'right');
  await fail(guard, accountMax, (index) => ({ from: `198.51.100.${index % 100}` }));
  assert.equal(await attempt(guard, 'right', { from: '192.0.2.77' }), windowMs / 1_000);
  assert.equal(await attempt(guard, 'right', owner), 'right');
  await fail(guard, accountFromClientMax, () => owner);
  assert.equal(await attempt(guard, 'right', owner), windowMs / 1_000);
});

test('A-15 all names of an account count together, and so do the spellings of a name', async () => {
  const guard = new SignInGuard();
  const half = accountFromClientMax / 2;
  await fail(guard, half, () => ({ names: ['ann'] }));
  await fail(guard, half, () => ({ names: ['ann@example.com'] }));
  assert.equal(await attempt(guard, 'right', { names: ['another'] }), windowMs / 1_000);
  await fail(guard, accountFromClientMax, () => ({ names: ['bob'], account: 'b' }));
  // The account is unknown here: nobody has the name in this spelling.
  assert.equal(await attempt(guard, 'wrong', { account: 'bob' }), windowMs / 1_000);
});

test('successful and unchecked tries do not count; concurrent tries count before their result', async () => {
  const guard = new SignInGuard();
  for (let count = 0; count < accountFromClientMax * 2; count += 1)
    for (const ends of ['right', 'busy'] as const) assert.equal(await attempt(guard, ends), ends);
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => attempt(guard, 'wrong')));
  assert.equal(outcomes.filter((outcome) => outcome === 'wrong').length, accountFromClientMax);
});
