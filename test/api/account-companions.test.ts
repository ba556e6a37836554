// Both engines: accounts are found, and locked, by SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Accounts, codes } from '../support/accounts.ts';

const collections = '/api/collections';

test('what a superuser adds beside accounts belongs to an account that exists', async (t) => {
  const stage = await Accounts.start(t);
  const ann = await stage.account('ann');
  const ask = (method: string, at: string, body: object): ReturnType<typeof stage.ask> =>
    stage.ask(method, `${collections}${at}`, { token: true, body });
  const { json: definition } = await stage.ask('GET', `${collections}/users`, { token: true });
  const { json: notes } = await ask('POST', '', { name: 'notes', type: 'base' });
  const own = { collectionRef: definition.id, recordRef: ann.id };
  const others = [
    [{ collectionRef: 'nowhere' }, { collectionRef: 'validation_invalid_collection_id' }],
    [{ collectionRef: 'users' }, { collectionRef: 'validation_invalid_collection_id' }],
    [{ collectionRef: notes.id }, { collectionRef: 'validation_invalid_collection_type' }],
    [{ recordRef: 'nobody' }, { recordRef: 'validation_invalid_record' }],
    [{ recordRef: '' }, { recordRef: 'validation_required' }],
  ] as const;
  for (const [companion, values] of Object.entries({
    _mfas: { method: 'password' },
    _otps: { password: '12345678' },
    _externalAuths: { provider: 'google', providerId: '1' },
    _authOrigins: { fingerprint: 'here' },
  })) {
    const made = await ask('POST', `/${companion}/records`, { ...values, ...own });
    assert.equal(made.status, 201, made.text);
    for (const [change, problems] of others) {
      const created = await ask('POST', `/${companion}/records`, { ...values, ...own, ...change });
      assert.deepEqual(codes(created), problems, companion);
      const updated = await ask('PATCH', `/${companion}/records/${made.json.id}`, change);
      assert.deepEqual([updated.status, codes(updated)], [400, problems], companion);
    }
    const same = await ask('PATCH', `/${companion}/records/${made.json.id}`, own);
    assert.equal(same.status, 200, same.text);
  }
});
