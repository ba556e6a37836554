import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import sharp from 'sharp';
import { askPage } from '../support/ask-page.ts';
import { putFile } from '../support/put-file.ts';
import { startService } from '../support/service.ts';

const page = readFileSync(new URL('../../docs/files.md', import.meta.url), 'utf8');
const password = 'correct horse';

test('every request of docs/files.md is answered as the page says', async (t) => {
  const service = await startService(t);
  const make = async (path: string, body: object): Promise<{ readonly id: string }> => {
    const made = await service.request(path, { method: 'POST', token: true, body });
    assert.ok(made.status < 300, made.text);
    return made.json;
  };
  const email = 'ann@example.com';
  const { id: author } = await make('/api/collections/users/records', {
    email,
    password,
    passwordConfirm: password,
  });
  await make('/api/collections', {
    name: 'posts',
    viewRule: 'author = @request.auth.id',
    fields: [
      { name: 'cover', type: 'file', thumbs: ['300x0'] },
      { name: 'letter', type: 'file', protected: true },
      { name: 'author', type: 'text' },
    ],
  });
  const record = 'post00000000001';
  await make('/api/collections/posts/records', { id: record, author });
  const create = { width: 600, height: 400, channels: 3, background: '#07c' } as const;
  const picture = await sharp({ create }).png().toBuffer();
  await service.withInstance('default', async (instance) => {
    const place = { collection: 'posts', record };
    await putFile(instance, { ...place, field: 'cover', name: 'beach_x3k9f0a1b2.png' }, picture);
    await putFile(instance, { ...place, field: 'letter', name: 'letter_p0o9i8u7y6.txt' }, 'Dear Ann');
  });
  const signedIn = await service.request('/api/collections/users/auth-with-password', {
    method: 'POST',
    body: { identity: email, password },
  });
  await askPage(service, page, new Map([['<token of the account>', String(signedIn.json.token)]]));
});
