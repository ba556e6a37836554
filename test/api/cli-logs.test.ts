// Both engines: entries of one millisecond are sorted by SQL.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { describePlaces, posts } from '../support/command-stage.ts';
import { eventually } from '../support/eventually.ts';
import type { TestService } from '../support/service.ts';

describePlaces('logs', (start) => {
  test('the newest entries are shown, the newest last', async (t) => {
    const { run } = await start(t, { collections: [posts], prepare });
    const shown = await run(['logs', '--filter', 'data.status = 404']);
    const rows = shown.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    assert.deepEqual(
      rows.map(([, status, method, url]) => [status, method, url]),
      [1, 2, 3].map((number) => ['404', 'GET', `/api/collections/nothing${number}`]),
    );
    assert.deepEqual([rows[0]?.[5], rows[0]?.[7]], ['_superusers', "The requested resource wasn't found."]);
    const limited = await run(['logs', '--filter', 'data.status = 404', '--limit', '1', '--json']);
    const [entry, ...others] = JSON.parse(limited.stdout);
    assert.deepEqual([entry.data.url, others], ['/api/collections/nothing3', []]);
    const remark = await run(['logs', '--filter', "data.type = 'log'"]);
    assert.match(remark.stdout, /\t3 more requests were not logged\.\t/);
    const looks = ['logs', '--filter', "data.url ~ '/api/logs?%'"];
    await eventually('the entry', async () => (await run([...looks, '--all'])).stdout !== '');
    assert.doesNotMatch((await run(looks)).stdout, /%3F%25/);
    const cases: readonly (readonly [code: number, says: RegExp, ...args: readonly string[]])[] = [
      [65, /^chancery: filter: Expected a value after "=" at position 7\.\n$/, '--filter', 'nope ='],
      [
        65,
        /^chancery: filter: Expected a value after "=" at position \d\.\n$/,
        '--follow',
        '--filter',
        'nope =',
      ],
      [64, /--limit must be a whole number from 1 to 1000/, '--limit', '0'],
      [64, /--limit must be a whole number from 0 to 200/, '--follow', '--limit', '201'],
    ];
    for (const [code, says, ...args] of cases) {
      const ended = await run(['logs', ...args]);
      assert.match(ended.stderr, says);
      assert.deepEqual([ended.code, ended.stdout], [code, '']);
    }
  });

  test('entries of one millisecond are in the order in which they were noted, and --limit shows the last of them', async (t) => {
    const noted = ['a', 'b', 'c', 'd', 'e'];
    const prepareAtOnce = (service: TestService): Promise<void> =>
      service.withInstance('default', async ({ logs, clock }) => {
        const at = clock.now();
        for (const message of noted) logs.note({ at, level: 4, message, data: { type: 'log' } });
      });
    const { run } = await start(t, { collections: [posts], prepare: prepareAtOnce });
    const filter = ['--filter', "data.type = 'log'", '--json'];
    const messages = (text: string): readonly string[] =>
      [...text.matchAll(/"message": ?"(\w)"/g)].map(([, one = '']) => one);
    assert.deepEqual(messages((await run(['logs', ...filter])).stdout), noted);
    const interrupts = new EventEmitter();
    t.after(() => interrupts.emit('SIGINT'));
    let text = '';
    const ended = run(['logs', '--follow', '--limit', '2', ...filter], {
      interrupts,
      onOutput: (piece) => {
        text += piece;
        interrupts.emit('SIGINT');
      },
    });
    assert.equal((await ended).code, 0);
    assert.deepEqual(messages(text), noted.slice(-2));
  });

  test('with --follow it goes on until Ctrl-C, without what it looks for itself', async (t) => {
    const { run, ask } = await start(t, { collections: [posts], prepare });
    const interrupts = new EventEmitter();
    t.after(() => interrupts.emit('SIGINT'));
    let text = '';
    const ended = run(['logs', '--follow', '--limit', '2', '--json'], {
      interrupts,
      onOutput: (piece) => void (text += piece),
    });
    const urls = (): readonly string[] =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).data.url);
    await eventually('what was there', () => urls().includes('/api/collections/nothing3'));
    await ask('/api/collections/nothing4', { token: true });
    await eventually('what came', () => urls().includes('/api/collections/nothing4'));
    await ask('/api/collections/nothing5', { token: true });
    await eventually('what came', () => urls().includes('/api/collections/nothing5'));
    const looks = urls().filter((url) => url.startsWith('/api/logs?'));
    assert.deepEqual([...new Set(looks)], [`/api/logs?filter=${refused}`]);
    assert.equal(new Set(text.split('\n')).size, text.split('\n').length);
    interrupts.emit('SIGINT');
    assert.deepEqual((({ code, stderr }) => [code, stderr])(await ended), [0, '']);
  });
});

const refused = encodeURIComponent('data.status = 404');

/** Makes entries, among them one of the log about itself, and waits until they are written. */
async function prepare(service: TestService): Promise<void> {
  await service.withInstance('default', async ({ logs, clock }) =>
    logs.note({
      at: clock.now(),
      level: 4,
      message: '3 more requests were not logged.',
      data: { missed: 3, type: 'log' },
    }),
  );
  for (const number of [1, 2, 3]) await service.request(`/api/collections/nothing${number}`, { token: true });
  await eventually('entries', async () => {
    const { json } = await service.request(`/api/logs?filter=${refused}`, { token: true });
    return json.totalItems === 3;
  });
}
