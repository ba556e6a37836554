import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, type ToolRequest } from './call-tool.ts';
import { type Tool, tools } from './tools.ts';

const toolOf = (name: string): Tool => {
  const tool = tools.find((one) => one.name === name);
  assert.ok(tool !== undefined, name);
  return tool;
};

async function requestOf(name: string, values: Readonly<Record<string, unknown>>): Promise<ToolRequest> {
  let sent: ToolRequest | undefined;
  await callTool(toolOf(name), values, async (request) => {
    sent = request;
    return {};
  });
  assert.ok(sent !== undefined);
  return sent;
}

test('values go to the path, the query or the body, as the tool says', async () => {
  const { params, query, body } = await requestOf('list_records', {
    collection: 'posts',
    perPage: 5,
    filter: 'a = 1',
  });
  assert.deepEqual(
    [params, query, body],
    [{ collection: 'posts' }, { perPage: '5', filter: 'a = 1' }, undefined],
  );
  const changed = await requestOf('update_record', { collection: 'posts', id: 'x', data: { title: 'A' } });
  assert.deepEqual([changed.params, changed.body], [{ collection: 'posts', id: 'x' }, { title: 'A' }]);
  const planned = await requestOf('plan_schema', { collections: [], deleteMissing: false });
  assert.deepEqual(planned.body, { collections: [], deleteMissing: false });
});

test('wrong values are refused before anything is sent', async () => {
  const wrong: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
    ['list_records', {}, /^collection: missing/],
    ['list_records', { collection: 'posts', perpage: 1 }, /^perpage: unknown/],
    ['list_records', { collection: 'posts', perPage: '5' }, /^perPage: expected a positive integer/],
    ['list_records', { collection: 'posts', perPage: 101 }, /^perPage: at most 100/],
    ['list_records', { collection: ['posts'] }, /^collection: expected a value of type string/],
    ['view_record', { collection: 'posts', id: '..' }, /^id: not valid/],
    ['view_record', JSON.parse('{"__proto__":{"id":"x"},"collection":"posts"}'), /^__proto__: unknown/],
    ['create_record', { collection: 'posts', data: [] }, /^data: expected a value of type object/],
    ['plan_schema', { collections: {} }, /^collections: expected a value of type array/],
  ];
  for (const [name, values, message] of wrong)
    await assert.rejects(
      callTool(toolOf(name), values, () => assert.fail('nothing is sent')),
      { name: 'ToolRefusal', message },
    );
});

test('an answer that is too long is refused with what to do', async () => {
  const long = async (): Promise<unknown> => 'x'.repeat(100_000);
  await assert.rejects(
    callTool(toolOf('list_collections'), {}, long),
    /100002 characters.*perPage or fields/,
  );
});
