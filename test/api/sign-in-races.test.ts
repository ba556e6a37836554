// Both engines: sign-ins meet changes in transactions.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { password, type Account } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import type { FaultyDatabase } from '../support/faulty-database.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { Mailbox } from '../support/mailbox.ts';
import type { TestAnswer } from '../support/service.ts';

const path = '/api/collections/users';
const other = 'another horse';

interface Stage {
  readonly box: Mailbox;
  readonly ann: Account;
  /** Asks, and while the first read with this part has its answer still to come, does what changes the account. */
  readonly during: <Result>(
    part: string,
    asked: { readonly ask: () => Promise<Result>; readonly change: () => Promise<TestAnswer> },
  ) => Promise<Result>;
}

async function openStage(t: TestContext, definition: object = {}): Promise<Stage> {
  const { databases, wrapDatabase } = faultyDatabases();
  const box = await Mailbox.open(t, { parts: { wrapDatabase } });
  await box.accounts.define({ authAlert: { enabled: false }, ...definition });
  const ann = await box.accounts.account('ann');
  const [database] = databases;
  assert.ok(database !== undefined);
  const during: Stage['during'] = async (part, { ask, change }) => {
    const release = holdReads(t, database, part);
    const asking = ask();
    await eventually('the read to be held', () => database.heldCount > 0);
    const changed = await change();
    assert.ok([200, 204].includes(changed.status), changed.text);
    release();
    return asking;
  };
  return { box, ann, during };
}

function holdReads(t: TestContext, database: FaultyDatabase, part: string): () => void {
  const release = database.holdReads(part);
  t.after(release);
  return release;
}

/** By a superuser, which looks for no secret before it writes one. */
function changePassword({ box, ann }: Stage): Promise<TestAnswer> {
  return box.accounts.update(ann.id, { password: other, passwordConfirm: other }, true);
}

/** Whether what was answered lets anybody in. */
async function letsIn({ box }: Stage, { status, json }: TestAnswer): Promise<boolean> {
  return status === 200 && (await box.accounts.isIn(json.token));
}

/** Has a code mailed to Ann, and gives what signs in with it. */
async function askForCode({ box, ann }: Stage): Promise<() => Promise<TestAnswer>> {
  let otpId = '';
  const password = await box.codeOf(async () => {
    const asked = await box.accounts.ask('POST', `${path}/request-otp`, { body: { email: ann.email } });
    ({ otpId } = asked.json);
  });
  return () => box.accounts.ask('POST', `${path}/auth-with-otp`, { body: { otpId, password } });
}

/** What reads a secret of a record, the hash of its password. */
const passwordRead = ' AND record = ';
/** What reads an account. */
const accountRead = '"emailVisibility"';
/** What asks the rule that everybody fulfils. */
const ruleRead = 'LIKE';
const authRule = 'email ~ "example"';

test('A-20 who signs in with a password that is changed meanwhile is out with it', async (t) => {
  const stage = await openStage(t);
  const { box, ann } = stage;
  const answer = await stage.during(passwordRead, {
    ask: () => box.accounts.signIn(ann.email),
    change: () => changePassword(stage),
  });
  assert.equal(await letsIn(stage, answer), false);
  assert.equal(await letsIn(stage, await box.accounts.signIn(ann.email, other)), true);
});

test('A-20 a session that is refreshed while its password is changed ends with it', async (t) => {
  const stage = await openStage(t, { authRule });
  const { box, ann } = stage;
  const answer = await stage.during(ruleRead, {
    ask: () => box.accounts.ask('POST', `${path}/auth-refresh`, { token: ann.token }),
    change: () => changePassword(stage),
  });
  assert.equal(await letsIn(stage, answer), false);
});

test('A-21 who signs in with a code while the address is changed is out with it', async (t) => {
  const stage = await openStage(t, { authRule, otp: { enabled: true } });
  const { box, ann } = stage;
  const signIn = await askForCode(stage);
  const answer = await stage.during(ruleRead, {
    ask: signIn,
    change: () => box.accounts.update(ann.id, { email: 'ann@new.example.com' }, true),
  });
  assert.equal(await letsIn(stage, answer), false);
});

test('A-21 no second factor is asked for behind a password that is reset meanwhile', async (t) => {
  const stage = await openStage(t, { authRule, otp: { enabled: true } });
  const { box, ann } = stage;
  await box.accounts.define({ mfa: { enabled: true } });
  const body = { email: ann.email };
  const token = await box.tokenOf(() => box.accounts.ask('POST', `${path}/request-password-reset`, { body }));
  const answer = await stage.during(ruleRead, {
    ask: () => box.accounts.signIn(ann.email),
    change: () =>
      box.accounts.ask('POST', `${path}/confirm-password-reset`, {
        body: { token, password: other, passwordConfirm: other },
      }),
  });
  assert.deepEqual([answer.status, answer.json.message], [400, 'Failed to authenticate.']);
  const sessions = await box.accounts.ask('GET', '/api/collections/_mfas/records', { token: true });
  assert.equal(sessions.json.totalItems, 0);
  assert.equal((await box.accounts.signIn(ann.email, password)).status, 400);
  assert.equal((await box.accounts.signIn(ann.email, other)).status, 401);
});

test('A-20 an address gets nothing that is good for an account that was moved from it meanwhile', async (t) => {
  const stage = await openStage(t);
  const { box, ann } = stage;
  const body = { email: ann.email };
  const answer = await stage.during(accountRead, {
    ask: () => box.accounts.ask('POST', `${path}/request-password-reset`, { body }),
    change: () => box.accounts.update(ann.id, { email: 'ann@new.example.com' }, true),
  });
  assert.equal(answer.status, 204);
  await box.settle('bob');
  assert.deepEqual(
    box.sink.mails.map(({ to }) => to),
    [['bob@example.com']],
  );
});

/** Gives the field that accounts have for their name another one, and the rule with it. */
async function renameField({ box }: Stage, authRule: string): Promise<TestAnswer> {
  const { json } = await box.accounts.ask('GET', path, { token: true });
  const was: readonly { readonly name: string }[] = json.fields;
  const fields = was.map((field) => (field.name === 'name' ? { ...field, name: 'nick' } : field));
  return box.accounts.ask('PATCH', path, { token: true, body: { fields, authRule } });
}

test('who signs in while the definition of their collection changes is let in by the new rule', async (t) => {
  const stage = await openStage(t, { authRule: 'name = "ann"' });
  const { box, ann } = stage;
  const signInDuring = (change: () => Promise<TestAnswer>): Promise<TestAnswer> =>
    stage.during(passwordRead, { ask: () => box.accounts.signIn(ann.email), change });
  const { status, json, text } = await signInDuring(() => renameField(stage, 'nick = "ann"'));
  assert.deepEqual([status, json.record?.nick], [200, 'ann'], text);
  const body = { authRule: 'nick = "bob"' };
  const refused = await signInDuring(() => box.accounts.ask('PATCH', path, { token: true, body }));
  assert.equal(refused.status, 403, refused.text);
});

test('a code is good for who signs in by it while the definition of their collection changes', async (t) => {
  for (const part of [passwordRead, accountRead]) {
    const stage = await openStage(t, { authRule: 'name = "ann"', otp: { enabled: true } });
    const signIn = await askForCode(stage);
    const answer = await stage.during(part, {
      ask: signIn,
      change: () => renameField(stage, 'nick = "ann"'),
    });
    assert.deepEqual([answer.status, answer.json.record?.nick], [200, 'ann'], answer.text);
  }
});

test('nobody signs in by a way that is switched off meanwhile', async (t) => {
  const stage = await openStage(t, { otp: { enabled: true } });
  const { box, ann } = stage;
  const signIn = await askForCode(stage);
  const ways = {
    passwordAuth: () => box.accounts.signIn(ann.email),
    otp: signIn,
  };
  for (const [way, ask] of Object.entries(ways)) {
    const body = { [way]: { enabled: false } };
    const change = () => box.accounts.ask('PATCH', path, { token: true, body });
    const { status, text } = await stage.during(passwordRead, { ask, change });
    assert.equal(status, 403, text);
  }
});
