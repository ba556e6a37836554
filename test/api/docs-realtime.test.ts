import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { RealtimeStage } from '../support/realtime-stage.ts';

const page = readFileSync(new URL('../../docs/realtime.md', import.meta.url), 'utf8');

test('the request of docs/realtime.md is answered as the page says, and what follows looks as it is shown', async (t) => {
  const stage = await RealtimeStage.open(t);
  const stream = await stage.connect();
  const [, method = '', path = '', body = '', status = ''] =
    /^```http\n(\w+) (\S+)\n(\{.*\})\n\n(\d+)\n```$/m.exec(page) ?? [];
  const answer = await stage.service.request(path, {
    method,
    body: body.replace('$CLIENT', stream.clientId),
  });
  assert.equal(String(answer.status), status);
  await stage.create('Hello');
  await stream.received(1);
  const frames = [...page.matchAll(/^```\n(id:.*?)\n```$/gms)].map(([, frame = '']) => frame);
  assert.equal(frames.length, 2);
  const withoutIds = (frame: string): string =>
    frame
      .replace(/^id:.*$/m, 'id:')
      .replaceAll(/"(clientId|collectionId|id)":"[^"]*"/g, '"$1":""')
      .replace(/,"meta".*(?=\},"action")/, '');
  assert.deepEqual(stream.text.split('\n\n').slice(0, 2).map(withoutIds), frames.map(withoutIds));
});
