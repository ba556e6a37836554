import assert from 'node:assert/strict';
import { readFileSync, globSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import example from '../examples/react/package.json' with { type: 'json' };
import packageJson from '../package.json' with { type: 'json' };
import { root } from '../tools/build/root.ts';
import { run } from '../tools/build/run.ts';
import { openChromium, withoutChromium } from './support/chromium.ts';
import { startService, type TestService } from './support/service.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const folder = join(root, 'examples/react');

test('the React example has the packages of this repository', () => {
  const packageOf = (folderOf: string): string => readFileSync(join(root, folderOf, 'package.json'), 'utf8');
  // `devDependencies` are texts by name.
  const { devDependencies } = JSON.parse(packageOf('dashboard')) as typeof packageJson;
  const ours = { ...packageJson.devDependencies, ...devDependencies };
  for (const [name, version] of Object.entries({ ...example.dependencies, ...example.devDependencies }))
    assert.equal(version, new Map(Object.entries(ours)).get(name), name);
});

test('the React example is accepted by the compiler', () => {
  run('tsc', ['-p', folder], { cwd: root });
});

const records = '/api/collections/posts/records';

test('the list of the React example follows changes, also those during a restart of the service', async (t) => {
  if (withoutChromium !== false) return t.skip(withoutChromium);
  const first = await startService(t);
  await createPosts(first);
  await add(first, 'first');
  const page = await (await openChromium()).newPage();
  t.after(() => page.close());
  await page.goto(await serve(t, build(t, first.url)));
  const rows = async (...titles: readonly string[]): Promise<void> => {
    const texts = `JSON.stringify([...document.querySelectorAll('li')].map((row) => row.textContent))`;
    await page.waitForFunction(`${texts} === ${JSON.stringify(JSON.stringify(titles))}`);
  };
  await rows('first');
  const path = `${records}/${await add(first, 'of another')}`;
  await rows('of another', 'first');
  await page.fill('input', 'mine');
  await page.click('button');
  await rows('mine', 'of another', 'first');
  await page.fill('input', 'refused');
  await page.click('button');
  await page.waitForSelector('[role=alert]');
  await rows('mine', 'of another', 'first');

  await first.stop();
  // On another port, which the page does not know: it cannot see these changes happen.
  const meanwhile = await startService(t, { data: first.data });
  await meanwhile.request(path, { method: 'DELETE' });
  await add(meanwhile, 'missed');
  await meanwhile.stop();
  const last = await startService(t, { data: first.data, flags: { port: new URL(first.url).port } });
  await rows('missed', 'mine', 'first');
  const changed = `${records}/${await add(last, 'after')}`;
  await rows('after', 'missed', 'mine', 'first');
  await add(last, 'newest');
  await last.request(changed, { method: 'PATCH', body: { title: 'changed' } });
  await rows('changed', 'newest', 'missed', 'mine', 'first');
  await last.request(changed, { method: 'DELETE' });
  await rows('newest', 'missed', 'mine', 'first');
});

/** Creates a collection that everybody may use, but for a post with the title `refused`. */
async function createPosts(service: TestService): Promise<void> {
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
  ];
  const rules = { listRule: '', viewRule: '', updateRule: '', deleteRule: '' };
  const body = { name: 'posts', type: 'base', fields, ...rules, createRule: 'title != "refused"' };
  await service.request('/api/collections', { method: 'POST', token: true, body });
}

/** Creates a post; resolves to its id. */
async function add(service: TestService, title: string): Promise<string> {
  const { json } = await service.request(records, { method: 'POST', body: { title } });
  return String(json.id);
}

/** Builds the example with its own command, for a service. */
function build(t: TestContext, url: string): string {
  const dist = temporaryFolder(t);
  const vite = ['vite', 'build', '--outDir', dist, '--emptyOutDir', '--logLevel', 'error'];
  run('env', [`VITE_CHANCERY_URL=${url}`, ...vite], { cwd: folder });
  return dist;
}

const types: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' };

/** Serves the files of a folder; resolves to the URL. */
async function serve(t: TestContext, dist: string): Promise<string> {
  const files = new Map(globSync('**/*.*', { cwd: dist }).map((path) => [`/${path}`, join(dist, path)]));
  const server = createServer(({ url = '/' }, response) => {
    const file = files.get(url === '/' ? '/index.html' : url);
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': types[extname(file)] ?? '' }).end(readFileSync(file));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  // It listens on a port, so its address is one of those.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
