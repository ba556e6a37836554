import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { remoteRun } from '../support/command-stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWebhookService } from '../support/webhook-service.ts';

/** Marks of direction, of no width, of C1, and ends of lines and paragraphs. */
const unseen =
  '\u202Egnp\u2066\u200B\u200D\u2028\u2029\u0085\u009B31m\u00AD\uFEFF\u{E0041}\u001B[31m\u001B[2J';
const RAW = /[\p{Cf}\p{Zl}\p{Zp}]|[^\P{Cc}\n\t]/u;
const text = `safe${unseen}end`;

test('no command writes to a terminal what it would obey or hide, and none to a pipe but an export', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'status', status: 500, body: text } });
  const endpoint = await service.addEndpoint({ schedule: [] });
  const fields = [{ name: 'kind', type: 'select', values: [text, 'b'], maxSelect: 2 }];
  await service.call('POST', '/api/collections', { body: { name: 'kinds', type: 'base', fields } });
  const post = await service.addPost(text);
  const delivery = await service.delivery('given up', ({ status }) => status === 'exhausted');
  await service.call('PATCH', `/api/collections/posts/records/${post.id}`, {
    body: { extra: { [text]: text } },
  });
  const event = (await service.call('GET', '/api/webhooks/events')).items[0];
  await service.request(`/api/health?q=${encodeURIComponent(text)}`, {
    headers: { 'user-agent': 'a\u009Bb' },
  });
  const run = remoteRun(service);
  const commands: readonly (readonly string[])[] = [
    ['record', 'list', 'posts'],
    ['record', 'get', 'posts', post.id],
    ['record', 'get', 'posts', text],
    ['record', 'list', text],
    ['record', 'list', 'posts', '--filter', `title ~ '${text}' &&`],
    ['record', 'create', 'posts', `rank=${text}`],
    ['record', 'create', 'posts', text],
    ['record', 'export', 'posts', '--format', 'ndjson'],
    ['record', 'export', 'posts', '--format', 'json'],
    ['record', 'export', 'posts', `/no/${text}`],
    ['record', 'import', 'posts', '-', '--format', 'ndjson'],
    ['collection', 'list'],
    ['collection', 'show', 'kinds'],
    ['endpoint', 'list'],
    ['endpoint', 'show', endpoint.id],
    ['endpoint', 'test', endpoint.id],
    ['delivery', 'list'],
    ['delivery', 'show', delivery.id],
    ['event', 'list'],
    ['event', 'show', event.id],
    ['logs'],
    ['types'],
    ['types', '--for', 'webhooks'],
    ['openapi'],
    ['doctor'],
    ['schema', 'diff', join(temporaryFolder(t), text)],
    ['verify', '--secret', text, text],
    [text],
    ['record', `--${text}`],
  ];
  const input = `{"title":"a","rank":"${unseen.replace(/\p{Cc}/gu, '')}"}\n{"${text.replace(/\p{Cc}/gu, '')}":1}\nno\n`;
  let escaped = 0;
  for (const command of commands)
    for (const columns of [undefined, 500])
      for (const flags of [[], ['--json']]) {
        const options = { input, environment: { NO_COLOR: '1' }, ...(columns !== undefined && { columns }) };
        const { stdout, stderr } = await run([...command, ...flags], options);
        const all = `${stdout}${stderr.replaceAll('\r\u001B[K', '')}`;
        const raw = RAW.exec(all);
        assert.equal(
          raw,
          null,
          `${JSON.stringify(command)} ${flags.join()}: ${JSON.stringify(all.slice(Math.max(0, (raw?.index ?? 0) - 80)))}`,
        );
        if (all.includes('\\u202e')) escaped += 1;
      }
  assert.ok(escaped > 40, `${escaped} of the outputs had to be escaped`);
  const csv = ['record', 'export', 'posts', '--format', 'csv', '--raw'];
  assert.ok((await run(csv)).stdout.includes(text), 'a program gets what was stored');
  assert.doesNotMatch((await run(csv, { columns: 80 })).stdout, RAW);
});
