import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import { isSupportedHash, PasswordHasher } from './password.ts';

const passwords = new PasswordHasher();
const share = { instance: 'a', address: '' };
const salt = 'c29tZXNhbHRzb21lc2FsdA';
const tag = 'A'.repeat(43);
/** Of the password `password`, from the tests of the reference implementation (argon2id, m = 65536, t = 2, p = 1). */
const known = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';

test('hashes in the PHC form, with the cost that http-api A12 promises', async () => {
  const hash = await passwords.hash('correct horse', share);
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.equal(await passwords.verify('correct horse', hash, share), true);
  assert.equal(await passwords.verify('correct horsE', hash, share), false);
  assert.equal(await passwords.verify('correct horse ', hash, share), false);
  assert.equal(passwords.needsRehash(hash), false);
  assert.notEqual(await passwords.hash('correct horse', share), hash, 'each hash has its own salt');
});

test('verifies a hash that the reference implementation made', async () => {
  assert.equal(await passwords.verify('password', known, share), true);
  assert.equal(await passwords.verify('differentpassword', known, share), false);
});

test('every password of 1 to 512 bytes is accepted unchanged, and no other', async () => {
  const long = 'é'.repeat(256);
  for (const password of ['x', ' ', '\u0301e', long, '$2a$10$abc']) {
    assert.equal(await passwords.verify(password, await passwords.hash(password, share), share), true);
  }
  assert.equal(
    await passwords.verify('\u00e9', await passwords.hash('e\u0301', share), share),
    false,
    'nothing is normalised',
  );
  for (const password of ['', `${long}x`]) {
    await assert.rejects(
      passwords.hash(password, share),
      (error) => error instanceof AppError && error.code === 'bad_request',
    );
    assert.equal(await passwords.verify(password, known, share), false);
  }
});

test('does not take a hash for the password it was made of (A-26)', async () => {
  assert.equal(await passwords.verify(known, known, share), false);
});

test('answers false for a user that does not exist, after the same work (A-19)', async () => {
  const hash = await passwords.hash('x', share);
  const real = await leastWork(() => passwords.verify('y', hash, share));
  const dummy = await leastWork(() => passwords.verify('y', undefined, share));
  const unsupported = await leastWork(() => passwords.verify('y', '$2b$10$abcdefghijklmnopqrstuv', share));
  assert.equal(await passwords.verify('y', undefined, share), false);
  // Generous, because other tests share the caches; without the work the factor would be a thousand.
  assert.ok(dummy > real / 3 && dummy < real * 3, `${dummy} ms for nobody, ${real} ms for somebody`);
  assert.ok(unsupported > real / 3, `${unsupported} ms for an unsupported hash, ${real} ms for a good one`);
});

const unsupported: readonly (readonly [name: string, hash: string])[] = [
  ['nothing', ''],
  ['bcrypt that costs too much', '$2b$15$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy'],
  ['bcrypt of an unknown kind', '$2x$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy'],
  ['half of bcrypt', '$2b$10$N9qo8uLOickgx2ZMRZoMye'],
  ['argon2i', `$argon2i$v=19$m=19456,t=2,p=1$${salt}$${tag}`],
  ['another version', `$argon2id$v=16$m=19456,t=2,p=1$${salt}$${tag}`],
  ['no version', `$argon2id$m=19456,t=2,p=1$${salt}$${tag}`],
  ['another order', `$argon2id$v=19$t=2,m=19456,p=1$${salt}$${tag}`],
  ['a missing parameter', `$argon2id$v=19$m=19456,t=2$${salt}$${tag}`],
  ['a further parameter', `$argon2id$v=19$m=19456,t=2,p=1,keyid=x$${salt}$${tag}`],
  ['a leading zero', `$argon2id$v=19$m=019456,t=2,p=1$${salt}$${tag}`],
  ['a sign', `$argon2id$v=19$m=+19456,t=2,p=1$${salt}$${tag}`],
  ['no passes', `$argon2id$v=19$m=19456,t=0,p=1$${salt}$${tag}`],
  ['too little memory for its lanes', `$argon2id$v=19$m=31,t=2,p=4$${salt}$${tag}`],
  ['all the memory there is', `$argon2id$v=19$m=4194304,t=2,p=1$${salt}$${tag}`],
  ['too many passes', `$argon2id$v=19$m=19456,t=99,p=1$${salt}$${tag}`],
  ['too many lanes', `$argon2id$v=19$m=19456,t=2,p=64$${salt}$${tag}`],
  ['padding', `$argon2id$v=19$m=19456,t=2,p=1$${salt}==$${tag}=`],
  ['the other alphabet', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${'_'.repeat(43)}`],
  ['spare bits', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag.slice(1)}B`],
  ['no tag', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$`],
  ['a short tag', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$AAAA`],
  ['no salt', `$argon2id$v=19$m=19456,t=2,p=1$$${tag}`],
  ['something after the tag', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}$`],
  ['a line end', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}\n`],
];

for (const [name, hash] of unsupported) {
  test(`matches nothing with a hash with ${name}`, async () => {
    assert.equal(isSupportedHash(hash), false);
    assert.equal(passwords.needsRehash(hash), true);
    assert.equal(await passwords.verify('password', hash, share), false);
  });
}

const costs: readonly (readonly [hash: string, needsRehash: boolean])[] = [
  [`$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}`, false],
  [`$argon2id$v=19$m=65536,t=3,p=4$${salt}$${tag}`, false],
  [`$argon2id$v=19$m=19455,t=2,p=1$${salt}$${tag}`, true],
  [`$argon2id$v=19$m=65536,t=1,p=1$${salt}$${tag}`, true],
  [`$argon2id$v=19$m=19456,t=2,p=1$${salt}$${'A'.repeat(22)}`, true],
  [known, true],
];

for (const [hash, expected] of costs) {
  test(`${expected ? 'wants to replace' : 'keeps'} ${hash.slice(0, 32)}… (${hash.length} characters)`, () => {
    assert.equal(isSupportedHash(hash), true);
    assert.equal(passwords.needsRehash(hash), expected);
  });
}

test('refuses what does not fit into the queue, and goes on when it is empty again (A-30)', async () => {
  const room = Math.min(availableParallelism(), 3) + 50;
  const answers = await Promise.allSettled(
    Array.from({ length: room + 5 }, () => passwords.verify('x', undefined, share)),
  );
  const refusals = answers.flatMap((answer): unknown[] =>
    answer.status === 'rejected' ? [answer.reason] : [],
  );
  assert.equal(refusals.length, 5);
  for (const error of refusals)
    assert.ok(error instanceof AppError && error.code === 'unavailable' && error.retryAfter === 1);
  assert.equal(await passwords.verify('x', undefined, share), false);
});

/** In milliseconds of a processor, which other processes can take no part of. */
async function leastWork(work: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 5; round++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}
