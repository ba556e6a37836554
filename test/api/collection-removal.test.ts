import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const path = '/api/collections';

class Stage {
  readonly service: TestService;
  constructor(service: TestService) {
    this.service = service;
  }

  create(body: object): Promise<TestAnswer> {
    return this.service.request(path, { method: 'POST', token: true, body });
  }

  change(name: string, body: object): Promise<TestAnswer> {
    return this.service.request(`${path}/${name}`, { method: 'PATCH', token: true, body });
  }

  remove(what: string): Promise<TestAnswer> {
    return this.service.request(`${path}/${what}`, { method: 'DELETE', token: true });
  }

  records(name: string, query = ''): Promise<TestAnswer> {
    return this.service.request(`${path}/${name}/records?${query}`, { token: true });
  }

  add(name: string, body: object): Promise<TestAnswer> {
    return this.service.request(`${path}/${name}/records`, { method: 'POST', token: true, body });
  }
}

async function setUp(t: TestContext): Promise<Stage> {
  return new Stage(await startService(t));
}

test('S-10 a collection to which others refer is not deleted, whoever refers only to itself is', async (t) => {
  const stage = await setUp(t);
  const { json: target } = await stage.create({ name: 'target' });
  const relation = (name: string): object => ({ name, type: 'relation', collectionId: target.id });
  await stage.change('target', { fields: [relation('parent')] });
  for (const name of ['one', 'two'])
    await stage.create({ name, fields: [relation('first'), relation('second')] });
  const refused = await stage.remove('target');
  assert.deepEqual(
    [refused.status, refused.json],
    [
      400,
      {
        data: {},
        message: 'Failed to delete collection probably due to existing reference in one, two.',
        status: 400,
      },
    ],
  );
  assert.equal((await stage.records('target')).status, 200);
  await stage.change('one', { fields: [] });
  assert.match((await stage.remove('target')).json.message, /reference in two\.$/);
  assert.equal((await stage.remove('two')).status, 204);
  assert.equal((await stage.remove('target')).status, 204);
});
