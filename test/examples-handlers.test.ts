// The frameworks themselves are installed by `npm run examples` only. Their handlers of webhooks are functions of a request, which run without them.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildSync } from 'esbuild';
import { sign } from '../kit/src/sign.ts';
import { root } from '../tools/build/root.ts';
import { run } from '../tools/build/run.ts';
import { installKit } from './support/install-kit.ts';
import { temporaryTree, type Tree } from './support/temporary-tree.ts';

interface Handler {
  readonly name: string;
  readonly route: string;
  /** What the framework calls with a request. */
  readonly call: string;
  /** What the route imports of its framework, by specifier, and what tells that the list is read again. */
  readonly framework: Tree;
}

const handlers: readonly Handler[] = [
  {
    name: 'next',
    route: 'app/hook/route.ts',
    call: 'POST(request)',
    framework: {
      'next/cache': "export const revalidatePath = (path) => globalThis.seen.push('read ' + path);",
    },
  },
  {
    name: 'sveltekit',
    route: 'src/routes/hook/+server.ts',
    call: 'POST({ request })',
    framework: {
      '$app/env/private': "export const { WEBHOOK_SECRET, CHANCERY_URL = '' } = process.env;",
    },
  },
];

const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const body = JSON.stringify({
  event: 'record.update',
  collection: 'posts',
  timestamp: '2026-11-20T09:35:21.114Z',
  instance_id: 'i',
  data: { id: 'r1', title: 'Grüße' },
});

for (const { name, route, call, framework } of handlers)
  test(`the handler of the example ${name} takes what is genuine, and nothing else`, async (t) => {
    const folder = temporaryTree(t, {
      'package.json': '{ "type": "module" }',
      ...Object.fromEntries(Object.values(framework).map((text, at) => [`framework${at}.mjs`, text])),
      'driver.mjs': `
        import { readFileSync } from 'node:fs';
        globalThis.seen = [];
        process.env.WEBHOOK_SECRET = '${secret}';
        const { POST } = await import('./handler.mjs');
        for (const { headers, body } of JSON.parse(readFileSync('requests.json', 'utf8'))) {
          const request = new Request('http://localhost/hook', { method: 'POST', headers, body });
          seen.push((await ${call}).status);
        }
        console.log(JSON.stringify(seen));`,
      'requests.json': JSON.stringify([
        { headers: {}, body },
        { headers: await sign({ secret: 'another secret of 16', id: 'evt_1', body }), body },
        { headers: await sign({ secret, id: 'evt_2', body }), body: body.replace('Grüße', 'Forged') },
        { headers: await sign({ secret, id: 'evt_3', body }), body },
      ]),
    });
    installKit(folder);
    const specifiers = Object.keys(framework);
    buildSync({
      entryPoints: [join(root, 'examples', name, route)],
      outfile: join(folder, 'handler.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'node',
      logLevel: 'silent',
      nodePaths: [join(folder, 'node_modules'), join(root, 'node_modules')],
      alias: Object.fromEntries(
        specifiers.map((specifier, at) => [specifier, join(folder, `framework${at}.mjs`)]),
      ),
    });
    const output = run(process.execPath, ['driver.mjs'], { cwd: folder });
    const seen: readonly unknown[] = JSON.parse(output);
    assert.deepEqual(
      seen.filter((one) => typeof one === 'number').map((status) => [400, 401].includes(status)),
      [true, true, true, false],
      output,
    );
    assert.ok(
      seen.some((one) => one === 200 || one === 204),
      output,
    );
    if (name === 'next')
      assert.deepEqual(
        seen.filter((one) => typeof one === 'string'),
        ['read /'],
      );
  });
