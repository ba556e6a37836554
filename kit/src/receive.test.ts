import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { describe, test, type TestContext } from 'node:test';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { expressHandler } from './express.ts';
import { fastifyWebhooks } from './fastify.ts';
import { fetchHandler, honoHandler } from './fetch.ts';
import type { ReceiveAnswer, ReceiveOptions } from './receive.ts';
import { RecordOrder } from './record-order.ts';
import { MemorySeen } from './seen.ts';
import { sign } from './sign.ts';

type Headers = Readonly<Record<string, string>>;
type Send = (headers: Headers, body: string) => Promise<ReceiveAnswer>;

const secret = 'correct horse battery staple';
const body = bodyOf('Grüße 🌍');

/** Each kind of server with a receiver in it, and how it is sent a request. */
const servers: Readonly<Record<string, (t: TestContext, options: ReceiveOptions) => Promise<Send>>> = {
  'a Fetch handler': async (_t, options) => sendTo(fetchHandler(options)),
  'a route handler as Next calls it': async (_t, options) => {
    const POST = fetchHandler(options);
    // Next hands over a second argument, which a handler may ignore.
    const route: (request: Request, context: { params: Promise<object> }) => Promise<Response> = POST;
    return sendTo((request) => route(request, { params: Promise.resolve({}) }));
  },
  Hono: async (_t, options) => {
    const app = new Hono().post('/hook', honoHandler(options));
    app.onError((error, context) => context.text(error.message, 500));
    return sendTo(async (request) => app.fetch(request));
  },
  Express: (t, options) => listen(t, createServer(quietExpress().post('/hook', expressHandler(options)))),
  'Express behind express.raw': (t, options) => {
    const app = quietExpress().use(express.raw({ type: 'application/json', limit: '10mb' }));
    return listen(t, createServer(app.post('/hook', expressHandler(options))));
  },
  "Node's own server": (t, options) => {
    const handle = expressHandler(options);
    const server = createServer((request, response) => {
      void handle(request, response, () => response.writeHead(500).end());
    });
    return listen(t, server);
  },
  Fastify: async (t, options) => {
    const app = fastify();
    await app.register(fastifyWebhooks, { path: '/hook', ...options });
    await app.listen({ host: '127.0.0.1', port: 0 });
    t.after(() => app.close());
    return overHttp(portOf(app.server));
  },
};

for (const [name, open] of Object.entries(servers)) {
  describe(`in ${name}`, () => {
    test('a genuine webhook is handled, and answered with 200', async (t) => {
      const titles: unknown[] = [];
      const send = await open(t, { secret, onWebhook: ({ event }) => titles.push(event.data['title']) });
      assert.deepEqual(await send(await signed(), body), { status: 200, text: 'ok' });
      assert.deepEqual(titles, ['Grüße 🌍']);
    });

    test('a genuine challenge is answered with itself, and not handled', async (t) => {
      const send = await open(t, { secret, onWebhook: refuse, seen: new MemorySeen() });
      const text = body.replace('record.update', 'endpoint.verify').replace('"title"', '"challenge"');
      assert.deepEqual(await send(await signed(text), text), { status: 200, text: 'Grüße 🌍' });
      assert.equal((await send(await signed(text, `${secret}!`), text)).status, 401);
    });

    test('what is not genuine is not handled, and the answer says what is wrong', async (t) => {
      const send = await open(t, { secret, onWebhook: refuse, bodyBytesMax: 2_000 });
      const headers = await signed();
      const refusals: readonly [Headers, string, number, RegExp][] = [
        [headers, bodyOf('another'), 401, /No signature was made with the secret/],
        [await signed(body, 'another secret of 16'), body, 401, /No signature/],
        [await signed(body, secret, 1_000), body, 401, /seconds old; at most 300/],
        [{ ...headers, 'webhook-id': '' }, body, 400, /webhook-id is missing/],
        [await signed('{}'), '{}', 400, /no data/],
        [
          await signed(bodyOf('x'.repeat(2_000))),
          bodyOf('x'.repeat(2_000)),
          413,
          /longer than 2000 bytes|too large/,
        ],
      ];
      for (const [wrong, text, status, message] of refusals) {
        const answer = await send(wrong, text);
        assert.equal(answer.status, status, answer.text);
        assert.match(answer.text, message);
      }
    });

    test('a webhook whose work fails is answered with 500, and handled when it comes again', async (t) => {
      let isAway = true;
      const onWebhook = (): void => {
        if (isAway) throw new Error('the database is away');
      };
      const send = await open(t, { secret, onWebhook, seen: new MemorySeen() });
      assert.equal((await send(await signed(), body)).status, 500);
      isAway = false;
      const answers = [await send(await signed(), body), await send(await signed(), body)];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200],
      );
      assert.deepEqual(
        answers.map(({ text }) => text),
        ['ok', 'The same webhook was handled before.'],
      );
    });
  });
}

test('a webhook that comes while the same one is being handled is answered with 409', async (t) => {
  const gate = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const onWebhook = () => {
    began.resolve();
    return gate.promise;
  };
  const send = await listen(
    t,
    createServer(quietExpress().post('/hook', expressHandler({ secret, onWebhook, seen: new MemorySeen() }))),
  );
  const first = send(await signed(), body);
  await began.promise;
  assert.equal((await send(await signed(), body)).status, 409);
  gate.resolve();
  assert.equal((await first).status, 200);
});

test('an older state of a record is answered with 200 and not handled', async () => {
  const sequences: unknown[] = [];
  const onWebhook: ReceiveOptions['onWebhook'] = ({ sequence }) => sequences.push(sequence);
  const send = sendTo(fetchHandler({ secret, onWebhook, order: new RecordOrder() }));
  const texts = [];
  for (const sequence of ['3', '2', '4']) {
    const headers = { ...(await signed()), 'x-service-sequence': sequence };
    texts.push((await send(headers, body)).text);
  }
  assert.deepEqual(texts, ['ok', 'A later state of the record was handled before.', 'ok']);
  assert.deepEqual(sequences, [3, 4]);
});

test('the secret is asked for at each request when it is a function', async () => {
  const secrets = ['a secret that is over', secret];
  const send = sendTo(
    fetchHandler({ secret: async () => secrets.shift() ?? '', onWebhook: () => undefined }),
  );
  const statuses = [await send(await signed(), body), await send(await signed(), body)].map(
    ({ status }) => status,
  );
  assert.deepEqual(statuses, [401, 200]);
});

test('a body that was parsed or read before is a mistake of the receiver, which is told so', async (t) => {
  const said: string[] = [];
  const handle = expressHandler({ secret, onWebhook: refuse });
  const app = express().use(express.json());
  app.post('/hook', (request, response) =>
    handle(request, response, (error) => {
      said.push(String(error));
      response.status(500).end();
    }),
  );
  const send = await listen(t, createServer(app));
  assert.equal((await send(await signed(), body)).status, 500);
  assert.match(said.join(), /mount the handler before express\.json\(\)/);

  const request = requestOf(await signed(), body);
  await request.text();
  await assert.rejects(fetchHandler({ secret, onWebhook: refuse })(request), /The body was read before/);
});

test('a body without a length is read no further than its limit', async (t) => {
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent += 1;
      controller.enqueue(new Uint8Array(1_000));
      if (sent > 100) controller.close();
    },
  });
  const options: ReceiveOptions = { secret, onWebhook: refuse, bodyBytesMax: 10_000 };
  // Streams as bodies need this member, which the types of Node do not have everywhere.
  const init = { method: 'POST', headers: await signed(), body: stream, duplex: 'half' } as RequestInit;
  const answer = await fetchHandler(options)(new Request('http://localhost/hook', init));
  assert.equal(answer.status, 413);
  assert.ok(sent < 20, String(sent));
  await assertCutOff(t, options);
});

test("the routes beside Fastify's plugin get their JSON parsed as before, and a parser of the application does no harm", async (t) => {
  const app = fastify();
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) =>
    done(null, { text }),
  );
  await app.register(fastifyWebhooks, { path: '/hook', secret, onWebhook: () => undefined });
  app.post('/json', (request, reply) => void reply.send(request.body));
  t.after(() => app.close());
  const headers = await signed();
  const hook = await app.inject({ method: 'POST', url: '/hook', headers, payload: body });
  assert.equal(hook.statusCode, 200, hook.payload);
  const json = await app.inject({ method: 'POST', url: '/json', headers, payload: body });
  assert.deepEqual(json.json(), { text: body });
});

/** A server that is sent a body without end answers, or cuts the connection, after the limit. */
async function assertCutOff(t: TestContext, options: ReceiveOptions): Promise<void> {
  const server = createServer(quietExpress().post('/hook', expressHandler(options)));
  await listen(t, server);
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent += 1;
      controller.enqueue(new Uint8Array(64 * 1024));
      if (sent > 10_000) controller.close();
    },
  });
  // As above.
  const init = { method: 'POST', headers: await signed(), body: stream, duplex: 'half' } as RequestInit;
  const status = await fetch(`http://127.0.0.1:${portOf(server)}/hook`, init).then(
    (answer) => answer.status,
    () => 'cut',
  );
  assert.ok(status === 413 || status === 'cut', String(status));
  assert.ok(sent <= 10_000, String(sent));
}

function refuse(): never {
  assert.fail('nothing was to be handled');
}

/** Express without the errors that it prints outside of tests. */
function quietExpress() {
  return express().set('env', 'test');
}

function bodyOf(title: string): string {
  const data = { id: 'r1', title };
  const head = { event: 'record.update', timestamp: '2026-11-20T09:35:20.114Z', instance_id: 'i' };
  return JSON.stringify({ ...head, collection: 'posts', data });
}

async function signed(text = body, by = secret, ageSeconds = 0): Promise<Headers> {
  const timestampSeconds = Math.floor(Date.now() / 1000) - ageSeconds;
  return sign({ secret: by, id: 'evt1', body: text, timestampSeconds });
}

function requestOf(headers: Headers, text: string): Request {
  return new Request('http://localhost/hook', { method: 'POST', headers, body: text });
}

/** Sends to a handler without a network; what it throws becomes the 500 that such servers answer. */
function sendTo(handle: (request: Request) => Promise<Response>): Send {
  return async (headers, text) => {
    try {
      const answer = await handle(requestOf(headers, text));
      return { status: answer.status, text: await answer.text() };
    } catch (error) {
      return { status: 500, text: String(error) };
    }
  };
}

async function listen(t: TestContext, server: Server): Promise<Send> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return overHttp(portOf(server));
}

function overHttp(port: number): Send {
  return async (headers, text) => {
    const answer = await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', headers, body: text });
    return { status: answer.status, text: await answer.text() };
  };
}

function portOf(server: Server): number {
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}
