import assert from 'node:assert/strict';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { root } from '../../tools/build/root.ts';
import { buildDashboard } from '../support/build-dashboard.ts';
import { endWith, MainProcess, serveMain } from '../support/main-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

before(() => buildDashboard());

test('where nothing was built, the dashboard is a 404 that says how, and the API works', async (t) => {
  const folder = temporaryFolder(t);
  // The sources as they are, without the folder that a build makes.
  for (const name of ['src', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const args = ['serve', '--data', join(folder, 'data'), '--port', '0', '--dev'];
  const program = [process.execPath, join(folder, 'src', 'main.ts')];
  const server = endWith(t, new MainProcess(args, {}, { program }));
  const { url } = await server.waitForLog(/listens on/);
  for (const path of ['', 'overview', 'assets/index-0.js']) {
    const answer = await fetch(`${String(url)}/_/${path}`);
    assert.equal(answer.status, 404);
    const { message } = JSON.parse(await answer.text());
    assert.match(message, /^The dashboard is not built here\. Run `npm run build:dashboard`/);
  }
  assert.equal((await fetch(`${String(url)}/api/health`)).status, 200);
});

test('a start says where the dashboard is, and where the first superuser is made', async (t) => {
  const { url, process: server } = await serveMain(t, temporaryFolder(t));
  const { dashboard } = await server.waitForLog(/listens on/);
  assert.equal(dashboard, `${url}/_/`);
  const { msg } = await server.waitForLog(/in a browser, once and within 30 minutes/);
  const [, token] = /\/_\/setup#(\w+)$/.exec(String(msg)) ?? [];
  const account = { email: 'a@example.com', password: '0123456789', passwordConfirm: '0123456789' };
  const body = new URLSearchParams({ token: token ?? '', ...account });
  assert.equal((await fetch(`${url}/api/setup`, { method: 'POST', body })).status, 204);
});
