import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { dashboardTypes } from '../tools/build/dashboard-types.ts';

test('the types of the dashboard are those of spec/openapi.json', () => {
  const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  assert.ok(
    read('dashboard/src/api/schema.ts') === dashboardTypes(JSON.parse(read('spec/openapi.json'))),
    'dashboard/src/api/schema.ts is stale: run `npm run dashboard:types`',
  );
});
