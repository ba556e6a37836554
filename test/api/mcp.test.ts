// Both engines: an agent reads records, events and logs through the same routes as every client.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { instanceRoutes } from '../../src/http/server/routes.ts';
import { tools } from '../../src/mcp/tools.ts';
import { atEnd } from '../support/at-end.ts';
import { makeKey } from '../support/make-key.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { type Json, listOf } from '../support/webhook-service.ts';
import { startWhyStage, type WhyStage } from '../support/why-stage.ts';

/** What an agent does: calls a tool, and reads the text of its result. */
interface Agent {
  readonly names: () => Promise<readonly string[]>;
  readonly call: (name: string, values?: Record<string, unknown>) => Promise<Json>;
  readonly refused: (name: string, values?: Record<string, unknown>) => Promise<string>;
}

async function connect(t: TestContext, transport: Transport): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  atEnd(t, async () => client.close());
  const answer = async (name: string, values: Record<string, unknown> = {}): Promise<[boolean, string]> => {
    const { isError, content } = await client.callTool({ name, arguments: values });
    assert.ok(Array.isArray(content));
    return [isError === true, String(content[0]?.text)];
  };
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, values) => {
      const [isError, text] = await answer(name, values);
      assert.ok(!isError, text);
      return JSON.parse(text);
    },
    refused: async (name, values) => {
      const [isError, text] = await answer(name, values);
      assert.ok(isError, text);
      return text;
    },
  };
}

interface Access {
  readonly key: string;
  readonly mayWrite?: boolean;
}

function overHttp(t: TestContext, { url }: WhyStage, { key, mayWrite = false }: Access): Promise<Agent> {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return connect(
    t,
    new StreamableHTTPClientTransport(new URL(`${url}/api/mcp${mayWrite ? '?write=true' : ''}`), {
      requestInit,
    }),
  );
}

function overStreams(t: TestContext, { url }: WhyStage, { key, mayWrite = false }: Access): Promise<Agent> {
  const [input, stdout] = [new PassThrough(), new PassThrough()];
  const ended = runInProcess(['mcp', '--url', url, '--token', key, ...(mayWrite ? ['--write'] : [])], {
    input,
    stdout,
  });
  atEnd(t, async () => {
    input.end();
    assert.deepEqual(await ended, { code: 0, stdout: '', stderr: '' });
  });
  // The protocol on streams is the same from both sides.
  return connect(t, new StdioServerTransport(stdout, input));
}

const scopes = ['records:read', 'collections:read', 'webhooks:read', 'admin'] as const;

for (const [name, open] of [
  ['POST /api/mcp', overHttp],
  ['chancery mcp', overStreams],
] as const)
  describe(name, () => {
    test('lets an agent find a record, find out why its webhook did not arrive, and plan a field', async (t) => {
      const stage = await startWhyStage(t);
      const { id } = await stage.addEndpoint({ filter: "title = 'other'" });
      await stage.call('POST', '/api/collections/posts/records', { body: { title: 'Lost' } });
      const agent = await open(t, stage, await makeKey(stage, scopes));

      const { items: collections } = await agent.call('list_collections', { filter: "name = 'posts'" });
      const [collection] = collections;
      const found = await agent.call('list_records', {
        collection: collection.name,
        filter: "title = 'Lost'",
      });
      assert.equal(found.items[0].title, 'Lost');

      const events = await agent.call('list_events', { record: `posts/${found.items[0].id}` });
      const { items: reasons } = await agent.call('explain_event', { id: events.items[0].id });
      assert.deepEqual([reasons[0].endpoint, reasons[0].reason], [id, 'filter']);

      const fields = [...collection.fields, { name: 'votes', type: 'number' }];
      const plan = await agent.call('plan_schema', { collections: [{ ...collection, fields }] });
      const [{ after: planned }] = plan.changed;
      assert.ok(listOf(planned.fields).some(({ name }) => name === 'votes'));
      const { fields: after } = await agent.call('view_collection', { collection: 'posts' });
      assert.equal(after.length, collection.fields.length);
      assert.ok((await agent.call('list_logs', { perPage: 1 })).items.length === 1);
    });

    test('reads only what the key may, and writes nothing unless that is allowed', async (t) => {
      const stage = await startWhyStage(t);
      const reader = await open(t, stage, await makeKey(stage, ['records:read']));
      assert.deepEqual(await reader.names(), ['list_records', 'view_record']);
      await assert.rejects(reader.call('list_logs'), /needs the scope admin for list_logs/);
      await assert.rejects(reader.call('nothing'), /There is no tool nothing/);
      const { key } = await makeKey(stage, ['records:read', 'records:write']);
      const values = { collection: 'posts', data: { title: 'By an agent' } };
      const careful = await open(t, stage, { key });
      await assert.rejects(
        careful.call('create_record', values),
        /create_record changes data, which is not allowed/,
      );
      const count = await stage.call('GET', '/api/collections/posts/records');
      assert.equal(count.totalItems, 0);
      const writer = await open(t, stage, { key, mayWrite: true });
      const { id } = await writer.call('create_record', values);
      const { title } = await writer.call('update_record', {
        collection: 'posts',
        id,
        data: { title: 'Changed' },
      });
      assert.equal(title, 'Changed');
      assert.match(await writer.refused('view_record', { collection: 'none', id }), /collection|resource/i);
      assert.match(await writer.refused('list_records', { collection: 'posts', filter: 'none = 1' }), /none/);
    });
  });

test('a key for some collections reaches no others through a tool', async (t) => {
  const stage = await startWhyStage(t);
  await stage.call('POST', '/api/collections', { body: { name: 'secrets', fields: [] } });
  const { key } = await makeKey(stage, ['records:read'], { collections: ['posts'] });
  const agent = await overHttp(t, stage, { key });
  assert.deepEqual((await agent.call('list_records', { collection: 'posts' })).items, []);
  assert.match(await agent.refused('list_records', { collection: 'secrets' }), /secrets|not allowed|key/i);
});

test('messages without a valid key, or that are no message, get an answer of the documented shape', async (t) => {
  const stage = await startWhyStage(t);
  const { key } = await makeKey(stage, ['records:read']);
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const post = async (authorization: string, body: unknown): Promise<number> => {
    const headers = {
      authorization,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${stage.url}/api/mcp`, { method: 'POST', headers, body: text });
    const { status, message }: Json = await answer.json();
    // An error of the protocol has a form of its own.
    if (answer.status >= 400 && message !== undefined) assert.equal(status, answer.status, message);
    return answer.status;
  };
  assert.equal(await post(`Bearer ${key}`, list), 200);
  const wrong = { guest: await post('', list), unknown: await post('Bearer ck_wrong', list) };
  assert.ok(wrong.guest >= 400 && wrong.guest < 500, String(wrong.guest));
  assert.equal(wrong.unknown, 401);
  for (const body of [[list], '{', '"text"', {}, { jsonrpc: '2.0', id: 1, method: 7 }])
    assert.equal(await post(`Bearer ${key}`, body), 400, JSON.stringify(body));
  assert.equal(await post(`Bearer ${key}`, { ...list, params: { cursor: 'x'.repeat(1024 * 1024) } }), 413);
  for (const method of ['GET', 'DELETE'] as const) {
    const { status, headers } = await fetch(`${stage.url}/api/mcp`, { method });
    assert.deepEqual([status, headers.get('allow')], [405, 'OPTIONS, POST']);
  }
});

test('each tool is a route that there is, under its scope', () => {
  for (const { operation, method, path, scope, name } of tools) {
    const route = instanceRoutes.get(operation);
    assert.ok(route !== undefined, name);
    assert.deepEqual([route.method, route.paths[0], route.scope], [method, path, scope], name);
  }
});

test('GET /llms.txt says how the API is used, with links that lead somewhere', async (t) => {
  const stage = await startWhyStage(t);
  const answer = await fetch(`${stage.url}/llms.txt`);
  const text = await answer.text();
  assert.deepEqual(
    [answer.status, answer.headers.get('content-type')],
    [200, 'text/markdown; charset=utf-8'],
  );
  assert.match(text, /^# Chancery\n\n> \S/);
  for (const [, path = ''] of text.matchAll(/\]\((.+?)\)/g))
    assert.notEqual((await fetch(new URL(path, answer.url))).status, 404, path);
});
