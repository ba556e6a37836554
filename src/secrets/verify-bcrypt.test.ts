import assert from 'node:assert/strict';
import { hashSync } from 'bcryptjs';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import { isSupportedHash, PasswordHasher, verifyBcrypt } from './password.ts';

const passwords = new PasswordHasher();
const share = { instance: 'a', address: '' };
/** Of the password `U*U`, from the test vectors of the first implementation (crypt_blowfish). */
const known = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW';

test('a bcrypt hash is verified, and wants to be replaced', async () => {
  assert.equal(isSupportedHash(known), true);
  assert.equal(passwords.needsRehash(known), true);
  assert.equal(await passwords.verify('U*U', known, share), true);
  assert.equal(await passwords.verify('U*V', known, share), false);
  assert.equal(await passwords.verify('', known, share), false);
});

test('the kinds 2a, 2b and 2y are one', async () => {
  for (const kind of ['2a', '2b', '2y'])
    assert.equal(await passwords.verify('U*U', known.replace('2a', kind), share), true, kind);
});

test('a password is not right for beginning with the 72 bytes that bcrypt looks at', async () => {
  const longest = 'é'.repeat(36);
  const hash = hashSync(longest, 4);
  assert.equal(await passwords.verify(longest, hash, share), true);
  assert.equal(await passwords.verify(`${longest}x`, hash, share), false);
  assert.equal(await passwords.verify(longest.slice(0, -1), hash, share), false);
});

test('other work goes on while bcrypt runs', async () => {
  const hash = hashSync('x', 4).replace('$04$', '$12$');
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  await verifyBcrypt('x', hash, share);
  clearInterval(timer);
  // On this thread it would have been none: bcryptjs lets go of it after a tenth of a second at the earliest.
  assert.ok(turns > 5, `${turns} turns`);
});

test('what does not fit into the queue of bcrypt is refused, and afterwards it goes on', async () => {
  const answers = await Promise.allSettled(
    Array.from({ length: 54 }, () => passwords.verify('U*U', known, share)),
  );
  const refusals = answers.flatMap((answer): unknown[] =>
    answer.status === 'rejected' ? [answer.reason] : [],
  );
  assert.equal(refusals.length, 3);
  for (const error of refusals) assert.ok(error instanceof AppError && error.code === 'unavailable');
  assert.ok(answers.every((answer) => answer.status === 'rejected' || answer.value));
  assert.equal(await passwords.verify('U*U', known, share), true);
});
