import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logInto } from '../../test/support/log-into.ts';
import { installedSharp } from './load-sharp.ts';

test('of images from strangers only four formats are read', async () => {
  const log: string[] = [];
  const port = installedSharp(logInto(log));
  assert.equal(port.isInstalled(), true);
  const sharp = await port.load();
  assert.ok(sharp);
  const image = sharp({ create: { width: 9, height: 9, channels: 3, background: '#f00' } });
  for (const format of ['jpeg', 'png', 'webp', 'gif'] as const) {
    const bytes = await image.clone().toFormat(format).toBuffer();
    assert.equal((await sharp(bytes).metadata()).format, format);
  }
  for (const format of ['tiff', 'avif'] as const) {
    const bytes = await image.clone().toFormat(format).toBuffer();
    await assert.rejects(sharp(bytes).metadata(), /unsupported image format/, format);
  }
  const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
  await assert.rejects(sharp(drawing).metadata(), /unsupported image format/);
  assert.deepEqual(log, []);
});
