// Both engines: entries are counted and filtered by SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MovableClock } from '../support/movable-clock.ts';
import { superuserSdk } from '../support/sdk.ts';
import { startService } from '../support/service.ts';

const hourMs = 3_600_000;

test('the log of requests counts what was refused and what failed, and tells how long all but one of twenty requests took', async (t) => {
  const clock = new MovableClock();
  const service = await startService(t, { parts: { clock } });
  const pb = await superuserSdk(service);
  const note = (level: number, data: Readonly<Record<string, unknown>>): Promise<void> =>
    service.withInstance('default', async ({ logs }) =>
      logs.note({ at: clock.now(), level, message: 'noted', data }),
    );
  // The longest comes first: the order of entries says nothing. Of 21 the twentieth is the nearest rank to 95 %.
  for (let took = 21; took >= 1; took -= 1)
    await note(took <= 3 ? 4 : took === 4 ? 8 : 0, { execTime: took + 0.5 });
  await note(4, { missed: 3 });
  clock.move(hourMs);
  await note(0, { execTime: 7 });
  clock.move(hourMs);
  await note(4, { missed: 1 });
  assert.deepEqual(await pb.logs.getStats({ filter: "message = 'noted'" }), [
    { date: '2026-11-20 09:00:00.000Z', total: 22, refused: 4, failed: 1, execTimeP95: 20.5 },
    { date: '2026-11-20 10:00:00.000Z', total: 1, refused: 0, failed: 0, execTimeP95: 7 },
    { date: '2026-11-20 11:00:00.000Z', total: 1, refused: 1, failed: 0, execTimeP95: null },
  ]);
});

test('requests of the dashboard are told from others by the page that sent them', async (t) => {
  const service = await startService(t);
  const pb = await superuserSdk(service);
  const path = '/api/collections/users/records';
  for (const [page, referer] of ['http://127.0.0.1/_/c/users', 'https://example.com/a_b/', ''].entries())
    await service.request(`${path}?page=${page + 1}`, { headers: { referer } });
  // The members of the entry end before the page that sent it.
  await pb.settings.update({ logs: { maxDataSize: 60 } });
  await service.request(`${path}?page=4`);
  const numbersOf = async (condition: string): Promise<readonly (string | undefined)[]> => {
    const filter = `message ~ '${path}?page=' && message !~ '/api/logs' && ${condition}`;
    const { items } = await pb.logs.getList(1, 10, { filter, sort: 'message' });
    return items.map(({ message }) => message.split('=')[1]);
  };
  assert.deepEqual(await numbersOf("data.referer ~ '/_/'"), ['1']);
  assert.deepEqual(await numbersOf("(data.referer = null || data.referer !~ '/_/')"), ['2', '3', '4']);
});
