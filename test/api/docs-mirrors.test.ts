import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { root } from '../../tools/build/root.ts';
import { atEnd } from '../support/at-end.ts';
import { readDocBlocks } from '../support/doc-blocks.ts';
import { eventually } from '../support/eventually.ts';
import { installKit } from '../support/install-kit.ts';
import { temporaryTree } from '../support/temporary-tree.ts';
import { startWebhookService } from '../support/webhook-service.ts';

const blocks = readDocBlocks().filter(({ page }) => page === 'docs/mirrors.md');

function blockOf(language: string, index = 0): string {
  const block = blocks.filter((one) => one.language === language)[index];
  assert.ok(block !== undefined, `docs/mirrors.md has no block ${index} of ${language}`);
  return block.text;
}

/** Starts the receiver of the page in a folder of its own, and returns its port. */
async function startReceiver(
  t: TestContext,
  secret: string,
): Promise<{ readonly folder: string; readonly port: string }> {
  const listening = `const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  const folder = temporaryTree(t, {
    'receiver.mjs': `${blockOf('ts')}\n${listening}\n`,
    'node_modules/.keep': '',
  });
  installKit(folder);
  symlinkSync(join(root, 'node_modules/express'), join(folder, 'node_modules/express'));
  const child = spawn(process.execPath, ['receiver.mjs'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  atEnd(t, async () => {
    child.kill();
    await exited;
  });
  for await (const port of createInterface({ input: child.stdout })) return { folder, port };
  throw new Error('the receiver has ended without a port');
}

test('what docs/mirrors.md has somebody type keeps a copy', async (t) => {
  const service = await startWebhookService(t);
  const values = ['draft', 'published'];
  const { fields } = await service.call('GET', '/api/collections/posts');
  const status = { type: 'select', name: 'status', values, maxSelect: 1 };
  await service.call('PATCH', '/api/collections/posts', { body: { fields: [...fields, status] } });
  const posts = '/api/collections/posts/records';
  const { id: there } = await service.call('POST', posts, { body: { title: 'there', status: 'published' } });
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const { folder, port } = await startReceiver(t, secret);
  const [, method = '', path = '', body = ''] = /^(\w+) (\S+)\n(.*)$/s.exec(blockOf('http')) ?? [];
  const asked = { ...JSON.parse(body), url: `http://127.0.0.1:${port}/hook`, secret };
  const { id } = await service.call(method, path, { body: asked, status: 201 });
  const copy = new DatabaseSync(join(folder, 'mirror.db'));
  const titles = (): string =>
    copy
      .prepare(blockOf('sql'))
      .all()
      .flatMap((row) => Object.values(row).map(String))
      .toSorted((a, b) => a.localeCompare(b))
      .join();
  const copied = (expected: string): Promise<unknown> =>
    eventually(`the copy has ${expected}`, () => {
      service.look();
      return titles() === expected ? true : undefined;
    });
  await copied('there');
  const { id: draft } = await service.call('POST', posts, { body: { title: 'new', status: 'draft' } });
  await service.call('PATCH', `${posts}/${draft}`, { body: { status: 'published' } });
  await copied('new,there');
  await service.call('PATCH', `${posts}/${there}`, { body: { status: 'draft' } });
  await copied('new');
  const [, reconcile = '', place = ''] = /^(\w+) (\S+)/.exec(blockOf('http', 1)) ?? [];
  assert.equal((await service.call(reconcile, place.replace('{id}', id))).reconciling, true);
  await copied('new');
  copy.close();
});
