import type { Page } from 'playwright-core';
import type { PicturedScreen } from './operator-pictures.ts';

/** What a token in a mail says; nobody has signed it. */
function linkToken(exp: number): string {
  const claims = { collectionId: 'users', email: 'ann@example.com', newEmail: 'ann@new.example', exp };
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.none`;
}

/** Signs in with the key of somebody who receives webhooks. */
async function openPortal(page: Page, { PORTAL = '' }: Readonly<Record<string, string>>): Promise<void> {
  await page.getByLabel('API key', { exact: true }).fill(PORTAL);
  await page.keyboard.press('Enter');
  await page.locator('.table-link').waitFor();
}

/** All screens of an instance, of its accounts and of a portal. */
export const instanceScreens: readonly PicturedScreen[] = [
  { name: 'setup', path: 'setup#sometoken', ready: 'form', isGuest: true },
  { name: 'login', path: 'login', ready: 'form', isGuest: true },
  { name: 'login-key', path: 'login?with=key', ready: 'form', isGuest: true },
  {
    name: 'portal',
    path: 'login?with=key',
    ready: 'form',
    isGuest: true,
    act: async (page, ids) => openPortal(page, ids),
  },
  {
    name: 'portal-settings',
    path: 'login?with=key',
    ready: 'form',
    isGuest: true,
    act: async (page, ids) => {
      await openPortal(page, ids);
      await page.locator('.table-link').click();
      await page.getByRole('tab', { name: 'Settings' }).click();
      await page.locator('.forecast strong').waitFor();
    },
  },
  {
    name: 'login-failed',
    path: 'login?expired=yes',
    ready: 'form',
    isGuest: true,
    refusals: [400],
    act: async (page) => {
      await page.getByLabel('Email').fill('nobody@example.com');
      await page.getByLabel('Password', { exact: true }).fill('wrong');
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('alert').waitFor();
    },
  },
  {
    name: 'account-verification',
    path: `auth/confirm-verification#${linkToken(4_000_000_000)}`,
    ready: 'button',
    isGuest: true,
  },
  {
    name: 'account-reset',
    path: `auth/confirm-password-reset#${linkToken(4_000_000_000)}`,
    ready: 'form',
    isGuest: true,
  },
  {
    name: 'account-email',
    path: `auth/confirm-email-change#${linkToken(4_000_000_000)}`,
    ready: 'form',
    isGuest: true,
  },
  {
    name: 'account-old',
    path: `auth/confirm-password-reset#${linkToken(1)}`,
    ready: 'button',
    isGuest: true,
  },
  { name: 'overview', path: 'overview', ready: '.counts' },
  { name: 'records', path: 'c/orders?sort=-ordered', ready: '.row .chip' },
  { name: 'records-products', path: 'c/products', ready: '.row' },
  { name: 'records-filter', path: `c/orders?filter=total>100%26%26status='shipped'`, ready: '.row' },
  {
    name: 'records-filter-error',
    path: `c/products?filter=price>>10`,
    ready: '.filter-error',
    refusals: [400],
  },
  { name: 'records-none', path: 'c/products?filter=zebra', ready: '.empty' },
  { name: 'records-empty', path: 'c/everything', ready: '.row, .empty' },
  { name: 'record', path: 'c/orders?record=FIRST', ready: '.drawer .input' },
  { name: 'record-json', path: 'c/orders?record=FIRST&view=json', ready: '.json' },
  {
    name: 'record-story',
    path: 'c/orders?record=FIRST&view=story',
    ready: '.endpoint-line, .event-delivered',
  },
  {
    name: 'record-revisions',
    path: 'c/orders?record=FIRST&view=story',
    ready: '.endpoint-line, .event-delivered',
    act: async (page) => {
      await page.getByRole('button', { name: 'Compare revisions' }).click();
      await page.getByRole('region', { name: 'Compare revisions' }).waitFor();
    },
  },
  {
    name: 'column-summary',
    path: 'c/orders',
    ready: '.row .chip',
    act: async (page) => {
      await page.locator('.head-cell', { hasText: 'total' }).click({ button: 'right' });
      await page.getByRole('list', { name: 'Most frequent values' }).waitFor();
    },
  },
  {
    name: 'records-marked',
    path: 'c/orders',
    ready: '.row .chip',
    act: async (page) => {
      for (const row of [0, 1, 3]) await page.locator('.row').nth(row).getByRole('checkbox').check();
    },
  },
  { name: 'record-relations', path: 'c/orders?record=FIRST&view=relations', ready: '.relations-group' },
  { name: 'events', path: 'events', ready: '.data-table .badge' },
  { name: 'events-none', path: 'events?record=nothing', ready: '.empty' },
  { name: 'event', path: 'events/EVENT', ready: '.endpoint-line, .event-delivered' },
  { name: 'event-gone', path: 'events/nothing', ready: '.empty', refusals: [404] },
  { name: 'deliveries', path: 'deliveries', ready: '.data-table .badge' },
  { name: 'delivery', path: 'deliveries/DELIVERY', ready: '.attempt-button' },
  { name: 'delivery-request', path: 'deliveries/DELIVERY?tab=request', ready: '.header-facts' },
  { name: 'delivery-event', path: 'deliveries/DELIVERY?tab=event', ready: '.json' },
  { name: 'delivery-signature', path: 'deliveries/DELIVERY?tab=signature', ready: '.signature-form' },
  { name: 'record-new', path: 'c/everything?record=new', ready: '.drawer .input' },
  { name: 'logs', path: 'logs', ready: '.log-request' },
  { name: 'log', path: 'logs?log=LASTLOG', ready: '.facts' },
  { name: 'settings', path: 'settings/general', ready: '.settings-form' },
  { name: 'settings-keys', path: 'settings/keys', ready: '.empty, .table-main' },
  { name: 'settings-key-new', path: 'settings/keys?create=yes', ready: '.settings-card' },
  { name: 'settings-access', path: 'settings/access', ready: '.settings-form' },
  { name: 'settings-files', path: 'settings/files', ready: '.settings-form' },
  { name: 'settings-portals', path: 'settings/portals', ready: '.settings-form' },
  { name: 'settings-accounts', path: 'settings/accounts', ready: '.settings-form' },
  { name: 'settings-requests', path: 'settings/requests', ready: '.settings-form' },
  { name: 'settings-logs', path: 'settings/logs', ready: '.settings-form' },
  { name: 'settings-mail', path: 'settings/mail', ready: '.settings-form' },
  { name: 'settings-templates', path: 'settings/templates', ready: '.settings-form' },
  { name: 'settings-rate-limits', path: 'settings/rate-limits', ready: '.settings-rules' },
  { name: 'settings-backups', path: 'settings/backups', ready: '.facts' },
  { name: 'settings-jobs', path: 'settings/jobs', ready: '.table-main' },
  { name: 'settings-definitions', path: 'settings/definitions', ready: 'textarea' },
  { name: 'settings-audit', path: 'settings/audit', ready: '.data-table .table-link' },
  { name: 'settings-danger', path: 'settings/danger', ready: '.data-table' },
  { name: 'schema', path: 'c/orders/schema', ready: '.schema-field' },
  {
    name: 'schema-options',
    path: 'c/everything/schema',
    ready: '.schema-field',
    act: async (page) => {
      await page.getByRole('button', { name: 'Options of products' }).click();
      await page.getByRole('button', { name: /^Collection:/ }).waitFor();
    },
  },
  {
    name: 'schema-review',
    path: 'c/orders/schema',
    ready: '.schema-field',
    act: async (page) => {
      await page.getByRole('button', { name: 'More about note' }).click();
      await page.getByRole('menuitem', { name: 'Drop the field' }).click();
      await page.getByLabel('Name of field 2').fill('orderNumber');
      await page.getByRole('button', { name: 'Review' }).click();
      await page.locator('.review-loss').waitFor();
    },
  },
  {
    name: 'schema-accounts',
    path: 'c/customers/schema?rule=manageRule',
    ready: '.schema-field',
    act: async (page) => {
      await page.getByText('Token lifetimes').click();
    },
  },
  {
    name: 'rule-tester',
    path: 'c/orders/schema?test=createRule&as=demo_customers/customer0000001',
    ready: '.rule-text',
    act: async (page) => {
      await page.locator('.drawer-foot .button').click();
      await page.locator('.verdict').waitFor();
      await page.locator('.verdict').scrollIntoViewIfNeeded();
    },
  },
  { name: 'new-collection', path: 'new-collection', ready: '.schema-field' },
  {
    name: 'new-view',
    path: 'new-collection',
    ready: '.schema-field',
    act: async (page) => {
      await page.getByRole('radio', { name: 'View' }).click();
      await page
        .getByRole('textbox', { name: 'Query' })
        .fill(
          'SELECT c.id, c.name, count(o.id) AS orders FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.id',
        );
      await page.getByRole('button', { name: 'Try query' }).click();
      await page.getByRole('list', { name: 'Fields of the view' }).waitFor();
    },
  },
  {
    name: 'collection-api',
    path: 'c/products/api',
    ready: '.code',
    act: async (page) => {
      await page.getByRole('button', { name: 'Run' }).click();
      await page.locator('.json').waitFor();
    },
  },
  { name: 'diagram', path: 'diagram', ready: '.diagram-box' },
  { name: 'rules', path: 'rules', ready: '.rules-cell' },
  { name: 'webhooks', path: 'webhooks', ready: '.table-link' },
  { name: 'webhooks-none', path: 'webhooks?find=zebra', ready: '.data-empty' },
  { name: 'webhooks-new', path: 'webhooks?create=yes', ready: '.forecast strong' },
  ...(['Overview', 'Deliveries', 'Test', 'Settings'] as const).map((tab) => ({
    name: `endpoint-${tab.toLowerCase()}`,
    path: 'webhooks',
    ready: '.table-link',
    act: async (page: Page) => {
      await page.locator('.table-link').first().click();
      await page.getByRole('tab', { name: tab }).click();
      await page
        .locator('.plot-mark, .data-table .badge, .catcher-request, .forecast strong')
        .first()
        .waitFor();
    },
  })),
  {
    name: 'replay',
    path: 'webhooks',
    ready: '.table-link',
    act: async (page) => {
      await page.locator('.table-link').first().click();
      await page.getByRole('button', { name: 'Replay …' }).click();
      await page.getByRole('radio', { name: 'Everything' }).check();
      await page.getByRole('button', { name: 'Count' }).click();
      await page.getByText('to 1 endpoint').waitFor();
    },
  },
  {
    name: 'webhooks-as-code',
    path: 'webhooks',
    ready: '.table-link',
    act: async (page) => {
      await page.getByRole('button', { name: 'As code' }).click();
      await page.locator('.drawer').waitFor();
    },
  },
  {
    name: 'palette',
    path: 'c/products',
    ready: '.row',
    act: async (page) => {
      await page.keyboard.press('Control+k');
      await page.keyboard.type('bak');
      await page
        .getByRole('option', { name: /Bakery/ })
        .first()
        .waitFor();
    },
  },
];
