import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Accounts } from '../support/accounts.ts';
import { assertShown } from '../support/assert-shown.ts';
import { eventually } from '../support/eventually.ts';

const page = readFileSync(new URL('../../docs/accounts.md', import.meta.url), 'utf8');

test('every example of docs/accounts.md is answered as it says', async (t) => {
  const accounts = await Accounts.start(t);
  const ann = await accounts.account('ann');
  const examples = [...page.matchAll(/^```http\nas (\w+)\n(\w+) (\S+)\n(.*?)\n\n(\d{3})\n(.*?)^```/gms)];
  assert.equal(examples.length, page.match(/^```http/gm)?.length, 'an example is not understood');
  /** What stands for each name in braces when it was last seen. */
  const seen = new Map<string, string>();
  let mailCount = 0;
  let secret = 'correct horse';
  for (const [, who = '', method = '', path = '', body = '', status, expected = ''] of examples) {
    const fill = (text: string): string =>
      text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => seen.get(name) ?? whole);
    const given = JSON.parse(fill(body));
    const session = who === 'ann' ? (await accounts.signIn(ann.email, secret)).json.token : undefined;
    const token = who === 'superuser' ? true : session;
    const answer = await accounts.ask(method, path, { body: given, token });
    assert.equal(answer.status, Number(status), `${method} ${path}: ${answer.text}`);
    for (const name of ['otpId', 'mfaId'])
      if (typeof answer.json?.[name] === 'string') seen.set(name, answer.json[name]);
    if (expected !== '') assertShown(answer.json, JSON.parse(fill(expected)), `${method} ${path}`);
    if (path.includes('/request-')) {
      mailCount += 1;
      const html = await lastMail(accounts, mailCount);
      seen.set('token', /#\/auth\/confirm-[a-z-]+\/([\w.-]+)"/.exec(html)?.[1] ?? '');
      seen.set('otp', /<strong>(\d+)</.exec(html)?.[1] ?? '');
    }
    if (answer.status === 204 && given.passwordConfirm !== undefined) secret = given.password;
  }
});

async function lastMail(accounts: Accounts, count: number): Promise<string> {
  const mails = await eventually(`mail ${count}`, async () => {
    const { json } = await accounts.ask('GET', '/api/mails', { token: true });
    return json.items.length >= count ? json.items : undefined;
  });
  return mails[0].html;
}
