import assert from 'node:assert/strict';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dashboardTypes } from '../tools/build/dashboard-types.ts';
import { root } from '../tools/build/root.ts';
import { compilerOptions, folder } from './generators/generators.ts';
import { commandWith } from './generators/run-command.ts';
import { answersOfRoundTrip, posts } from './generators/stage.ts';
import { startService } from './support/service.ts';
import { temporaryTree } from './support/temporary-tree.ts';

test('a client with types of the document compiles, and makes a round trip', async (t) => {
  const service = await startService(t);
  const made = await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'posts', fields: posts },
  });
  assert.equal(made.status, 200, made.text);
  const document: unknown = JSON.parse(readFileSync(join(root, 'spec/openapi.json'), 'utf8'));
  const options = { ...compilerOptions.compilerOptions, allowImportingTsExtensions: true };
  const cwd = temporaryTree(t, {
    'client/schema.ts': dashboardTypes(document),
    'package.json': '{ "type": "module" }',
    'tsconfig.json': JSON.stringify({ ...compilerOptions, compilerOptions: options }),
  });
  for (const file of ['own-types.ts', 'round-trip.ts'])
    cpSync(join(folder, 'clients', file), join(cwd, file));
  const run = commandWith({
    CHANCERY_URL: service.url,
    CHANCERY_EMAIL: service.superuser.email,
    CHANCERY_PASSWORD: service.superuser.password,
  });
  await run('tsc', ['-p', '.'], { cwd });
  assert.deepEqual(JSON.parse(await run('node', ['own-types.ts'], { cwd })), answersOfRoundTrip);
});
