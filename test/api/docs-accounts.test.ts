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
  let mailCount = 0;
  let secret = 'correct horse';
  for (const [, who = '', method = '', path = '', body = '', status, expected = ''] of examples) {
    const mails = await eventually(`mail ${mailCount}`, async () => {
      const { json } = await accounts.ask('GET', '/api/mails', { token: true });
      return json.items.length >= mailCount ? json.items : undefined;
    });
    const [, token = ''] = /#\/auth\/confirm-[a-z-]+\/([\w.-]+)"/.exec(mails[0]?.html ?? '') ?? [];
    const given = JSON.parse(body.replaceAll('{token}', token));
    const session = who === 'ann' ? (await accounts.signIn(ann.email, secret)).json.token : undefined;
    const answer = await accounts.ask(method, path, { body: given, token: session });
    assert.equal(answer.status, Number(status), `${method} ${path}: ${answer.text}`);
    if (expected !== '') assertShown(answer.json, JSON.parse(expected), `${method} ${path}`);
    if (path.includes('/request-')) mailCount += 1;
    if (answer.status === 204 && given.passwordConfirm !== undefined) secret = given.password;
  }
});
