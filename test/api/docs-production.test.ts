import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { root } from '../../tools/build/root.ts';
import { startService } from '../support/service.ts';

const page = readFileSync(join(root, 'docs/production.md'), 'utf8');

test('the requests of docs/production.md set the address and the mail server', async (t) => {
  if (spawnSync('curl', ['--version']).status !== 0) return t.skip('curl is not installed here');
  const service = await startService(t);
  const [, commands = ''] = /^## 4\..*?^```sh\n(.*?)^```/ms.exec(page) ?? [];
  const { email, password } = service.superuser;
  const script = commands
    .replace('http://127.0.0.1:8090', service.url)
    .replace('you@example.com', email)
    .replace('correct horse', password);
  assert.notEqual(script, commands);
  const shell = spawn('bash', ['-eu', '-c', script], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(shell, 'exit');
  assert.equal(code, 0);
  const { json } = await service.request('/api/settings', { token: true });
  const { meta, smtp } = JSON.parse(JSON.stringify(json));
  assert.deepEqual(
    [meta.appURL, smtp.enabled, smtp.host],
    ['https://records.example.com', true, 'smtp.example.com'],
  );
});

test('docs/production.md names alerts that deploy/alerts.yml has', () => {
  const { groups } = parse(readFileSync(join(root, 'deploy/alerts.yml'), 'utf8'));
  const known = JSON.stringify(groups);
  const named = [...page.matchAll(/^\| `(Chancery\w+)`/gm)].map(([, name = '']) => name);
  assert.equal(named.length, 3);
  for (const name of named) assert.ok(known.includes(`"alert":"${name}"`), name);
});
