import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { mailRequestLimits } from '../../src/limits/mail-request-guard.ts';
import { Mailbox } from '../support/mailbox.ts';
import type { TestAnswer } from '../support/service.ts';

const { clientMax, addressFromClientMax, windowMs } = mailRequestLimits;

interface Asked {
  readonly name?: string;
  readonly from?: string;
  readonly token?: true | string;
  /** Further members of the body. */
  readonly more?: object;
}

type Ask = (email: string, asked?: Asked) => Promise<TestAnswer>;

async function openBox(t: TestContext): Promise<{ readonly box: Mailbox; readonly ask: Ask }> {
  const box = await Mailbox.open(t, { flags: { 'trusted-proxies': '127.0.0.1' } });
  await box.accounts.define({ otp: { enabled: true } });
  const ask: Ask = (email, { name = 'request-password-reset', from = '192.0.2.1', token, more } = {}) =>
    box.accounts.service.request(`/api/collections/users/${name}`, {
      method: 'POST',
      headers: { 'x-forwarded-for': from },
      body: { email, ...more },
      ...(token !== undefined && { token }),
    });
  return { box, ask };
}

const names = ['request-password-reset', 'request-verification', 'request-otp'];

test('A-44 one client asks for so many mails to an address and no more, whether or not an account has it', async (t) => {
  const { box, ask } = await openBox(t);
  const { email } = await box.accounts.account('ann');
  for (const to of [email, 'nobody@example.com']) {
    for (let count = 0; count < addressFromClientMax; count += 1) {
      const { status } = await ask(to, { name: names[count % names.length] ?? '' });
      assert.ok(status < 300, `${to} ${count}: ${status}`);
    }
    for (const name of names) {
      const refused = await ask(to, { name });
      assert.equal(refused.text, '{"data":{},"message":"Too Many Requests.","status":429}');
      assert.equal(refused.headers.get('retry-after'), '300');
    }
  }
  assert.equal((await ask(email.toUpperCase())).status, 429);
  assert.equal((await ask(email, { more: { newEmail: 'other@example.com' } })).status, 429);
  assert.equal((await ask(email, { from: '192.0.2.2' })).status, 204);
  assert.equal((await ask(email, { token: true })).status, 204);
  assert.equal((await ask('bob@example.com')).status, 204);
  box.clock.move(windowMs);
  assert.equal((await ask(email)).status, 204);
});

test('A-44 one client asks for so many mails to all addresses and no more, and others still get theirs', async (t) => {
  const { box, ask } = await openBox(t);
  const ann = await box.accounts.account('ann');
  const asked = Array.from({ length: clientMax + 5 }, (_, index) => ask(`nobody${index}@example.com`));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  const countOf = (wanted: number): number => statuses.filter((status) => status === wanted).length;
  assert.deepEqual([countOf(204), countOf(429)], [clientMax, 5]);
  const change = { name: 'request-email-change', token: ann.token, more: { newEmail: 'ann@new.example' } };
  assert.equal((await ask('', change)).status, 429);
  const mail = await box.mailOf(() => ask(ann.email, { from: '192.0.2.2' }));
  assert.deepEqual(mail.to, [ann.email]);
});
