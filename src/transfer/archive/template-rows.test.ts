import assert from 'node:assert/strict';
import { test } from 'node:test';
import { templateRow } from './template-rows.ts';

test('a template has no sign-in providers, as it has not their secrets', () => {
  const oauth2 = { providers: [{ name: 'google', clientId: 'shop' }], mappedFields: {}, enabled: true };
  const definition = JSON.stringify({ rules: {}, auth: { oauth2, otp: { enabled: true } } });
  const [name, text] = templateRow('$collection', ['users', definition, 1]);
  assert.equal(name, 'users');
  assert.deepEqual(JSON.parse(String(text)).auth, {
    oauth2: { ...oauth2, providers: [] },
    otp: { enabled: true },
  });
  const base = JSON.stringify({ rules: {}, auth: null });
  assert.deepEqual(templateRow('$collection', ['posts', base]), ['posts', base]);
});
