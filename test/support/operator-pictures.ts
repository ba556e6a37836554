import type { Page } from 'playwright-core';
import type { BrowserStage } from './browser-stage.ts';
import { callAsOperator, makeDeskKey, makeOperatorWorld } from './operator-world.ts';

/** A screen of which test/browser/contact-sheet.ts takes pictures. */
export interface PicturedScreen {
  readonly name: string;
  readonly path: string;
  /** What has to be there before the picture is taken. */
  readonly ready: string;
  readonly act?: (page: Page, ids: Readonly<Record<string, string>>) => Promise<void>;
  readonly isGuest?: boolean;
  /** It is one of the operator's. */
  readonly isOperator?: boolean;
  readonly refusals?: readonly number[];
}

/** Opens the menu of an instance, and an entry of it. */
async function chooseAction(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name }).click();
}

const pages: readonly PicturedScreen[] = [
  { name: 'login', path: 'login', ready: 'form', isGuest: true },
  {
    name: 'login-failed',
    path: 'login',
    ready: 'form',
    isGuest: true,
    refusals: [401],
    act: async (page) => {
      await page.getByLabel('Operator key', { exact: true }).fill(`co_${'a'.repeat(58)}`);
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
    },
  },
  { name: 'instances', path: 'instances', ready: '.table-link' },
  { name: 'instances-none', path: 'instances?find=nothing', ready: '.empty' },
  { name: 'instances-refused', path: 'instances?find=slug+%3D', ready: '.filter-error', refusals: [400] },
  {
    name: 'instance-new',
    path: 'instances?open=create',
    ready: '.drawer .input',
    refusals: [400],
    act: async (page) => {
      await page.getByLabel('Slug').fill('acme');
      await page.getByText('Quotas', { exact: true }).click();
      await page.getByRole('button', { name: 'Create instance' }).click();
      await page.locator('.field-error').first().waitFor();
    },
  },
  {
    name: 'instance-created',
    path: 'instances?open=create',
    ready: '.drawer .input',
    act: async (page) => {
      // The sheet makes one for each picture.
      await page.getByLabel('Slug').fill(`made-${Date.now()}`);
      await page.getByLabel('Webhook URL').fill('http://127.0.0.1:9/hooks');
      await page.getByRole('button', { name: 'Create instance' }).click();
      await page.locator('.secret').waitFor();
    },
  },
  { name: 'instance', path: 'instances/ACMEID', ready: '.operator-bar progress' },
  {
    name: 'instance-usage',
    path: 'instances/ACMEID?span=7d',
    ready: '.plot-mark',
    act: async (page) => page.getByRole('heading', { name: 'Backups' }).scrollIntoViewIfNeeded(),
  },
  { name: 'instance-edit', path: 'instances/ACMEID?open=edit', ready: '.drawer .input' },
  { name: 'instance-clone', path: 'instances/ACMEID?open=clone', ready: '.drawer .input' },
  { name: 'instance-key', path: 'instances/ACMEID?open=key', ready: '.drawer .input' },
  {
    name: 'instance-sign-in',
    path: 'instances/ACMEID?open=sign-in',
    ready: '.drawer .input',
    act: async (page) => {
      await page.getByRole('button', { name: 'Create sign-in link' }).click();
      await page.getByRole('link', { name: 'Open dashboard' }).waitFor();
    },
  },
  {
    name: 'instance-delete',
    path: 'instances/ACMEID',
    ready: '.operator-bar progress',
    act: async (page) => chooseAction(page, 'Delete'),
  },
  { name: 'instance-deleted', path: 'instances/DELETEDID', ready: '.notice' },
  { name: 'instance-gone', path: 'instances/nothing', ready: '.empty', refusals: [404] },
  { name: 'usage', path: 'usage?span=7d', ready: '.table-link' },
  { name: 'backups', path: 'backups', ready: '.table .badge' },
  { name: 'nodes', path: 'nodes', ready: '.empty' },
  { name: 'events', path: 'events', ready: '.table-main' },
  { name: 'audit', path: 'audit', ready: '.data-table .table-link' },
  {
    name: 'scope',
    path: 'login',
    ready: 'form',
    isGuest: true,
    act: async (page, { READKEY = '' }) => {
      await page.getByLabel('Operator key', { exact: true }).fill(READKEY);
      await page.keyboard.press('Enter');
      await page.locator('.table-link').first().waitFor();
      await page.goto(new URL('usage', page.url()).href);
      await page.getByRole('heading', { name: 'Needs the scope' }).waitFor();
    },
  },
];

/** The operator's screens. */
export const operatorScreens: readonly PicturedScreen[] = pages.map((screen) => ({
  ...screen,
  name: `operator-${screen.name}`,
  path: `operator/${screen.path}`,
  isOperator: true,
}));

/** Makes instances for the operator's screens, and keys. Returns the ids that their paths have, and what a browser keeps of a key. */
export async function openOperatorWorld(stage: BrowserStage): Promise<Readonly<Record<string, string>>> {
  const key = await makeDeskKey(stage);
  const { acme, deleted } = await makeOperatorWorld(stage, key);
  const own = await callAsOperator(stage, key, { path: '/keys/current' });
  const READKEY = await makeDeskKey(stage, 'instances:read');
  return { ACMEID: acme, DELETEDID: deleted, OPERATOR: JSON.stringify({ key, known: own }), READKEY };
}
