/** Backups: made, downloaded, verified, deleted, uploaded and restored by clicks, and their schedule. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { S3StandIn } from '../support/s3-stand-in.ts';

const skip = withoutChromium;

async function startStageWithNotes(t: TestContext): Promise<BrowserStage> {
  const stage = await startSignedInStage(t);
  const fields = [{ name: 'title', type: 'text' }];
  await stage.pb.collections.create({ name: 'notes', type: 'base', fields });
  await stage.pb.collection('notes').create({ title: 'kept' });
  return stage;
}

async function makeBackup(page: Page, name: string): Promise<void> {
  await page.getByLabel('Name of a new backup').fill(name);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: `Restore ${name}.zip` }).waitFor();
}

async function confirm(page: Page, { name, action }: { name: string; action: string }): Promise<void> {
  const button = page.getByRole('dialog').getByRole('button', { name: action });
  assert.equal(await button.isDisabled(), true);
  await page.getByLabel(`Type ${name} to confirm`).fill(name);
  await button.click();
}

test('a backup is made, downloaded, verified, deleted, uploaded and restored', { skip }, async (t) => {
  const stage = await startStageWithNotes(t);
  const page = await stage.openSignedIn('settings/backups', { refusals: [404, 503] });
  await page.getByRole('heading', { name: 'No backups yet' }).waitFor();
  await assertAccessible(page, 'no backups');
  await makeBackup(page, 'before-import');
  await page.getByText('took').waitFor();

  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download before-import.zip' }).click();
  const path = await (await downloading).path();
  const content = await readFile(path);
  const [stored] = await stage.pb.backups.getFullList();
  assert.deepEqual([stored?.key, stored?.size], ['before-import.zip', content.byteLength]);

  await page.getByRole('button', { name: 'Verify before-import.zip' }).click();
  await page.getByRole('status').getByText('before-import.zip is complete.').waitFor();
  await page.locator('.table-main').getByText('verified').waitFor();

  await page.getByRole('button', { name: 'Delete before-import.zip' }).click();
  await confirm(page, { name: 'before-import.zip', action: 'Delete before-import.zip' });
  await page.getByRole('heading', { name: 'No backups yet' }).waitFor();
  assert.deepEqual(await stage.pb.backups.getFullList(), []);

  // As a browser names what is downloaded twice.
  const file = { name: 'Before-import (1).zip', mimeType: 'application/zip', buffer: content };
  await page.getByLabel('Upload a backup').setInputFiles(file);
  await page.getByRole('status').getByText('before-import_1.zip is uploaded.').waitFor();

  const later = await stage.pb.collection('notes').create({ title: 'later' });
  await page.getByRole('button', { name: 'Restore before-import_1.zip' }).click();
  await confirm(page, { name: 'before-import_1.zip', action: 'Restore the instance' });
  await page.getByText('The instance is restored from before-import_1.zip.').waitFor();
  const notes = await stage.pb.collection('notes').getFullList();
  assert.deepEqual(
    notes.map(({ title }) => title),
    ['kept'],
  );
  await page.goto(`${stage.url}/_/c/notes?record=${later.id}`);
  await page.getByRole('gridcell', { name: 'kept' }).waitFor();
  assert.equal(await page.getByRole('gridcell', { name: 'later' }).count(), 0);
});

test('backups are sorted, and several are deleted at once', { skip }, async (t) => {
  const stage = await startStageWithNotes(t);
  for (const name of ['b.zip', 'a.zip', 'c.zip']) await stage.pb.backups.create(name);
  const page = await stage.openSignedIn('settings/backups?sort=name');
  const names = page.locator('.data-table .table-main');
  await eventually(
    'they are sorted',
    async () => (await names.allInnerTexts()).join(' ') === 'a.zip b.zip c.zip',
  );
  await page.getByLabel('Select row 1').click();
  await page.getByLabel('Select row 2').click();
  await assertAccessible(page, 'selected backups');
  await page.getByRole('button', { name: 'Delete …' }).click();
  await confirm(page, { name: '2 backups', action: 'Delete 2 backups' });
  await eventually('one is left', async () => (await names.allInnerTexts()).join(' ') === 'c.zip');
  const left = await stage.pb.backups.getFullList();
  assert.deepEqual(
    left.map(({ key }) => key),
    ['c.zip'],
  );
});

test('why a backup cannot be uploaded or used is told on the page', { skip }, async (t) => {
  const stage = await startStageWithNotes(t);
  const page = await stage.openSignedIn('settings/backups', { refusals: [400] });
  const name = 'notes.zip';
  await page
    .getByLabel('Upload a backup')
    .setInputFiles({ name, mimeType: 'application/zip', buffer: Buffer.from('no archive') });
  await page.getByRole('alert').waitFor();
  assert.deepEqual(await stage.pb.backups.getFullList(), []);
  await makeBackup(page, 'first');
  await page.getByLabel('Name of a new backup').fill('first.zip');
  await page.keyboard.press('Enter');
  await page
    .getByRole('alert')
    .getByText(/Failed to create backup\. .+/)
    .waitFor();
  assert.equal(await page.getByLabel('Name of a new backup').inputValue(), 'first.zip', 'to be changed');
  // An empty archive, which is one of nothing.
  const buffer = Buffer.from(`504b0506${'00'.repeat(18)}`, 'hex');
  await page.getByLabel('Upload a backup').setInputFiles({ name, mimeType: 'application/zip', buffer });
  await page.getByRole('button', { name: `Verify ${name}` }).click();
  await page.getByRole('alert').first().waitFor();
  const { failure } = await stage.pb.send('/api/backups/status', {});
  await page.getByRole('alert').getByText(failure.message).waitFor();
  await page.reload();
  await page.getByRole('alert').getByText(`The verification of ${name} failed`).waitFor();
  await page.getByRole('alert').getByText(failure.message).waitFor();
  await page.goto(`${stage.url}/_/overview`);
  await page.getByRole('link', { name: 'Last backup failed' }).click();
  await page.getByRole('alert').getByText(failure.message).waitFor();
  await page.getByLabel('Name of a new backup').fill('No name!');
  await page.getByText('Use lowercase letters, digits, - and _ only.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Back up now' }).isDisabled(), true);
});

test('a schedule is set, and the next backup is told in words', { skip }, async (t) => {
  const stage = await startStageWithNotes(t);
  const page = await stage.openSignedIn('settings/backups', { refusals: [400] });
  await page.getByText('Not scheduled').waitFor();
  await page.getByLabel('Cron, in UTC').fill('every night');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('alert').first().waitFor();
  assert.equal(await page.getByLabel('Cron, in UTC').getAttribute('aria-invalid'), 'true');
  await page.getByRole('button', { name: 'Every Sunday' }).click();
  await page.getByLabel('Keep', { exact: true }).fill('5');
  await page.getByRole('button', { name: 'Save' }).click();
  // At once, and not with the next look at the status, half a minute later.
  await page.getByText(/^Sunday, \w+ \d+ at 03:00 AM UTC/).waitFor({ timeout: 20_000 });
  const { backups } = await stage.pb.settings.getAll();
  assert.deepEqual([backups.cron, backups.cronMaxKeep], ['0 3 * * 0', 5]);
});

test('backups are kept in a bucket, which can be tested', { skip }, async (t) => {
  await using bucket = await S3StandIn.open();
  const stage = await startStageWithNotes(t);
  const page = await stage.openSignedIn('settings/backups');
  await page.getByLabel('Keep backups in S3').check();
  const { endpoint, region, accessKey, secret } = bucket.settings;
  await page.getByLabel('Endpoint').fill(endpoint);
  await page.getByLabel('Bucket', { exact: true }).fill(bucket.bucket);
  await page.getByLabel('Region').fill(region);
  await page.getByLabel('Access key').fill(accessKey);
  await page.getByLabel('Secret', { exact: true }).fill(secret);
  await page.getByLabel('The bucket is part of the path').check();
  await page.keyboard.press('Control+Enter');
  await page.getByRole('status').getByText('Saved.').waitFor();
  await page.getByRole('button', { name: 'Test the bucket' }).click();
  await page.getByText('The bucket works.').waitFor();
  await makeBackup(page, 'in-the-bucket');
  assert.ok(bucket.keys.some((key) => key.endsWith('in-the-bucket.zip')));
});

test('jobs are followed when a proxy closes their requests', { skip }, async (t) => {
  const stage = await startStageWithNotes(t);
  await stage.pb.backups.create('first.zip');
  await stage.pb.collection('notes').create({ title: 'later' });
  const proxy = await startImpatientProxy(t, stage);
  const page = await openBehind(proxy, { stage, refusals: [503, 504] });
  await page.getByRole('button', { name: 'Verify first.zip' }).click();
  await page.getByRole('status').getByText('first.zip is complete.').waitFor();
  await page.getByRole('button', { name: 'Restore first.zip' }).click();
  await confirm(page, { name: 'first.zip', action: 'Restore the instance' });
  await page.getByText('The instance is restored from first.zip.').waitFor();
  assert.equal((await stage.pb.collection('notes').getFullList()).length, 1);
  assert.equal(await page.getByRole('alert').count(), 0);
});

test('a restore that was started elsewhere shows, and its end loads the page again', { skip }, async (t) => {
  const stage = await startStageWithNotes(t);
  await stage.pb.backups.create('first.zip');
  const proxy = await startImpatientProxy(t, stage);
  const restoring = stage.pb.backups.restore('first.zip');
  await proxy.keepRunning();
  await restoring;
  await eventually('the instance is back', async () => (await fetch(`${stage.url}/api/health`)).ok);
  const page = await openBehind(proxy, { stage });
  await page.getByRole('status').getByText('Restoring first.zip').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Back up now' }).isDisabled(), true);
  await assertAccessible(page, 'a restore');
  await page.getByText('The instance is restored from first.zip.').waitFor();
});

interface ImpatientProxy {
  readonly url: string;
  /** Waits for a job, and answers the next requests for the status with what it is now. */
  readonly keepRunning: () => Promise<void>;
}

async function openBehind(
  { url }: ImpatientProxy,
  { stage, refusals = [] }: { stage: BrowserStage; refusals?: readonly number[] },
): Promise<Page> {
  const page = await stage.open({ origin: url, refusals });
  await page.addInitScript(stage.signingIn());
  await page.goto(`${url}/_/settings/backups`);
  return page;
}

/** A proxy that answers 504 to a request for a job as soon as that runs, and whose answers about the status are late. */
async function startImpatientProxy(t: TestContext, stage: BrowserStage): Promise<ImpatientProxy> {
  const late: string[] = [];
  const keepRunning = async (): Promise<void> => {
    await eventually('a job runs', async () => {
      // Beside the job itself, the screen asks once a second.
      const status = await stage.pb.send('/api/backups/status', {});
      if (status.running !== null) late.push(...Array.from({ length: 3 }, () => JSON.stringify(status)));
      return late.length > 0;
    });
  };
  const proxy = createServer((request, response) => {
    const { method = 'GET', url = '', headers } = request;
    const status = url === '/api/backups/status' ? late.shift() : undefined;
    if (status !== undefined) {
      response.setHeader('content-type', 'application/json').end(status);
      return;
    }
    const isJob = /^\/api\/backups\/[^/]+\/(?:restore|verify)$/.test(url);
    const forwarded = send(`${stage.url}${url}`, { method, headers }, (answer) => {
      if (isJob) answer.resume();
      else answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers));
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
    if (isJob) void keepRunning().then(() => response.writeHead(504).end());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  // A server that listens on a port has such an address.
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, keepRunning };
}
