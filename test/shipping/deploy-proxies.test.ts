import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text as read } from 'node:stream/consumers';
import { describe, test, type TestContext } from 'node:test';
import { start } from '../../src/start.ts';
import { root } from '../../tools/build/root.ts';
import { atEnd } from '../support/at-end.ts';
import { requireVariables } from '../support/deploy-variables.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { proxies } from '../support/proxy.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const superuser = { email: 'root@example.com', password: 'correct horse' };
/** Nothing listens there: the port is for a service that is not installed anywhere by now. */
const deadNode = '127.0.0.1:1';

/** What each configuration must say, also where the proxy is not installed to show it. */
const promises = {
  Caddy: [
    /reverse_proxy \{\$NODES:127\.0\.0\.1:8090\}/,
    /flush_interval -1/,
    /max_size 129MiB/,
    /lb_try_duration/,
  ],
  nginx: [
    /proxy_set_header Host \$http_host;/,
    /proxy_set_header X-Forwarded-For \$remote_addr;/,
    /client_max_body_size 129m;/,
    /proxy_read_timeout 90s;/,
    /proxy_next_upstream error timeout;/,
  ],
} as const;

for (const { name, path, isInstalled, validate, start: startProxy } of proxies) {
  const text = readFileSync(join(root, path), 'utf8');
  const installed = { skip: isInstalled ? false : `not run: ${name} is not installed here` };

  test(`${path} says what clients need`, () => {
    requireVariables(path, text);
    for (const promise of promises[name]) assert.match(text, promise);
    // There are none: realtime is Server-Sent Events.
    assert.doesNotMatch(text, /upgrade/i);
  });

  describe(`${name} in front of the service`, installed, () => {
    test('accepts the configuration', (t) => {
      assert.equal(validate(t), '');
    });

    test('brings each change at once to a client that listens', async (t) => {
      const { node, token } = await startNode(t);
      const url = await startProxy(t, [node]);
      const stream = await EventStream.open(t, url);
      const subscription = { clientId: stream.clientId, subscriptions: ['files/*'] };
      assert.equal((await send(`${url}/api/realtime`, subscription)).status, 204);
      for (const name of ['one', 'two']) {
        assert.equal((await send(`${url}/api/collections/files/records`, { name }, token)).status, 201);
        await eventually(`the change of ${name}`, () =>
          stream.messages.some(({ data }) => data.record.name === name),
        );
      }
    });

    test('takes a file that is larger than its own limit would be, and gives it back', async (t) => {
      const { node, token } = await startNode(t);
      const url = await startProxy(t, [node]);
      const bytes = randomBytes(6_000_000);
      const form = new FormData();
      form.set('file', new Blob([bytes]), 'large.bin');
      const created = await fetch(`${url}/api/collections/files/records`, {
        method: 'POST',
        headers: { authorization: token },
        body: form,
      });
      assert.equal(created.status, 201, await created.clone().text());
      // Created above with such members.
      const { id, file } = (await created.json()) as { readonly id: string; readonly file: string };
      const stored = await fetch(`${url}/api/files/files/${id}/${file}`);
      assert.ok(bytes.equals(new Uint8Array(await stored.arrayBuffer())));
    });

    test('names the client, whatever the client says of itself', async (t) => {
      const { node, token } = await startNode(t);
      const url = await startProxy(t, [node]);
      const headers = { authorization: token, 'x-forwarded-for': '203.0.113.9' };
      // Another address of this machine, which is not trusted.
      const sent = request(`${url}/api/health`, { headers, localAddress: '127.0.0.2' }).end();
      // The event has one argument, the answer.
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      assert.equal(/"realIP":"([^"]*)"/.exec(await read(answer))?.[1], '127.0.0.2');
    });

    test('asks another node where one is gone', async (t) => {
      const { node, token } = await startNode(t);
      const url = await startProxy(t, [deadNode, node]);
      // Caddy looks at its nodes once a second.
      await eventually('six records are created one after the other', async () => {
        for (let count = 0; count < 6; count += 1)
          assert.equal(
            (await send(`${url}/api/collections/files/records`, { name: 'x' }, token)).status,
            201,
          );
        return true;
      });
    });

    test('says so where none is left', async (t) => {
      const url = await startProxy(t, [deadNode]);
      const answer = await fetch(`${url}/api/health`);
      assert.ok([502, 503].includes(answer.status), String(answer.status));
      if (name !== 'Caddy') return;
      assert.equal(answer.headers.get('retry-after'), '1');
      assert.deepEqual(await answer.json(), {
        data: {},
        message: 'The service cannot be reached.',
        status: answer.status,
      });
    });
  });
}

interface Node {
  /** As proxies name it. */
  readonly node: string;
  readonly token: string;
}

/** Starts a service that trusts a proxy of this machine, with a collection of files. */
async function startNode(t: TestContext): Promise<Node> {
  const data = temporaryFolder(t);
  const trustedProxies = ['127.0.0.1'];
  const service = await start({ data, port: 0, logLevel: 'error', trustedProxies, superuser });
  atEnd(t, () => service.stop());
  const identity = { identity: superuser.email, password: superuser.password };
  const signedIn = await send(`${service.url}/api/collections/_superusers/auth-with-password`, identity);
  // Every answer to a sign-in has a token.
  const { token } = (await signedIn.json()) as { readonly token: string };
  const fields = [
    { name: 'name', type: 'text' },
    { name: 'file', type: 'file', maxSelect: 1, maxSize: 8_000_000 },
  ];
  const rules = { listRule: '', viewRule: '' };
  const made = await send(`${service.url}/api/collections`, { name: 'files', ...rules, fields }, token);
  assert.equal(made.status, 200);
  return { node: new URL(service.url).host, token };
}

function send(url: string, body: object, token?: string): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: token }),
  };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}
