import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describePlaces } from '../support/command-stage.ts';
import { listOf } from '../support/webhook-service.ts';

describePlaces('portal', (start) => {
  test('links are created for endpoints by id or name, listed and deleted', async (t) => {
    const { run } = await start(t);
    const hook = 'http://127.0.0.1:9/hook';
    const made = await run(['endpoint', 'create', hook, '--dev', '--name', 'shop', '--json']);
    const { id } = JSON.parse(made.stdout);
    const created = await run(['portal', 'link', 'shop', '--read-only', '--json']);
    const link = JSON.parse(created.stdout);
    assert.deepEqual([link.endpoints, link.scopes], [[id], ['webhooks:read']], created.stderr);
    assert.match(link.url, /\/_\/portal#\w{58}$/);
    const shown = await run(['portal', 'link', id]);
    assert.match(shown.stdout, /^https?:\S+\/_\/portal#\w{58}\n$/);
    assert.match(shown.stderr, /It can be opened once, until \d{4}-/);
    const list = await run(['portal', 'list']);
    assert.match(list.stdout, new RegExp(`^${link.id}\\t${id}\\tread\\t`, 'm'));
    assert.equal((await run(['portal', 'delete', link.id])).stdout, `Portal link ${link.id} deleted.\n`);
    assert.equal(listOf(JSON.parse((await run(['portal', 'list', '--json'])).stdout)).length, 1);
    assert.equal((await run(['portal', 'delete', link.id])).code, 65);
  });

  test('either endpoints or an account is required', async (t) => {
    const { run } = await start(t);
    assert.equal((await run(['portal', 'link'])).code, 64);
    assert.equal((await run(['portal', 'link', 'shop', '--owner', 'users/x'])).code, 64);
    const unknown = await run(['portal', 'link', '--owner', 'users/nobody000000000']);
    assert.ok(unknown.code !== 0 && unknown.stderr.includes('There is no such account.'), unknown.stderr);
  });
});
