/** What it takes to make a collection with a relation and a rule, and to try the rule, from the sign-in on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { account, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { watchActions } from './watch-actions.ts';

const actionsMax = 20;

test(
  'a collection with a relation and a rule is made and its rule tried in few actions',
  { skip: withoutChromium },
  async (t) => {
    const stage = await startSignedInStage(t);
    const ann = await stage.pb.collection('users').create({
      email: 'ann@example.com',
      name: 'Ann',
      password: 'correct horse',
      passwordConfirm: 'correct horse',
    });
    const page = await stage.open();
    await page.goto(`${stage.url}/_/`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const count = await watchActions(page);
    await page.getByLabel('Email').fill(account.email);
    await page.getByLabel('Password', { exact: true }).fill(account.password);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'New collection' }).first().click();
    // The overview before it has a field of this name, too.
    await page.getByRole('heading', { name: 'New collection' }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('posts');
    await page.getByRole('button', { name: 'Add field' }).click();
    await page.getByRole('menuitem', { name: 'Relation' }).click();
    await page.keyboard.type('author');
    await page.getByRole('button', { name: 'Collection: Choose' }).click();
    await page.getByRole('option', { name: 'users', exact: true }).click();
    const rule = page.locator('[data-rule="createRule"]');
    await rule.getByRole('radio', { name: 'Expression' }).click();
    await page.getByLabel('Create rule').fill('author = @request.auth.id');
    await page.getByRole('button', { name: 'Test as… Create' }).click();
    const tester = page.getByRole('complementary', { name: 'Rule tester' });
    await tester.getByText('Refused').waitFor();
    await tester.getByText('author is ""').waitFor();
    await tester.getByText(`@request.auth.id is "${ann.id}"`).waitFor();
    await page.keyboard.press('Control+s');
    await page.getByText('posts is empty').waitFor();
    const actions = await count();
    t.diagnostic(`${actions} clicks, keys and texts`);
    assert.ok(actions <= actionsMax, `${actions} actions`);
  },
);
