import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import sharp, { type Sharp } from 'sharp';
import { type ServedFiles, type ServedFileOptions, startServedFiles } from '../support/served-files.ts';
import { storageOf } from '../support/import-into.ts';
import { MovableClock } from '../support/movable-clock.ts';

const field = { thumbs: ['40x20', '40x20t', '40x20b', '40x20f', '0x50', '50x0', '99999x99999'] };

interface Stage extends ServedFiles {
  /** How many images were opened to make thumbs of them. */
  readonly openedCount: () => number;
  /** Names of the thumbs that are stored of a file. */
  readonly stored: (name: string) => readonly string[];
}

async function startStage(t: TestContext, options: ServedFileOptions = {}): Promise<Stage> {
  let opened = 0;
  const counted = new Proxy(sharp, {
    apply: (target, _, given: Parameters<typeof sharp>) => {
      opened += 1;
      return target(...given);
    },
  });
  const { parts, ...rest } = options;
  const stage = await startServedFiles(t, {
    field,
    ...rest,
    parts: { sharp: { isInstalled: () => true, load: async () => counted }, ...parts },
  });
  const instanceId = stage.service.app.data.directory.all()[0]?.id ?? '';
  const folder = join(storageOf(stage.service, instanceId), stage.collectionId, stage.id);
  return {
    ...stage,
    openedCount: () => opened,
    stored: (name) => {
      const thumbs = join(folder, `thumbs_${name}`);
      return existsSync(thumbs) ? readdirSync(thumbs).toSorted() : [];
    },
  };
}

/** An image whose upper half is red and whose lower half is blue. */
function picture(width = 200, height = 200): Sharp {
  const create = (background: string, height: number) =>
    ({ create: { width, height, channels: 3, background } }) as const;
  const input = create('#f00', height / 2);
  return sharp(create('#00f', height)).composite([{ input, top: 0, left: 0 }]);
}

/** The sides of an image, and the colours of its first and last row. */
async function look(bytes: Buffer): Promise<string> {
  const image = sharp(bytes).removeAlpha().toColourspace('srgb').raw();
  const { data, info } = await image.toBuffer({ resolveWithObject: true });
  const at = (row: number): string => (Number(data[row * info.width * info.channels]) > 128 ? 'red' : 'blue');
  return `${info.width}x${info.height} ${at(0)} ${at(info.height - 1)}`;
}

test('an image is sent in a size that its field names, cut or made to fit', async (t) => {
  const { put, get, stored } = await startStage(t);
  const image = await picture().png().toBuffer();
  await put('p_1.png', image);
  for (const [size, expected] of [
    ['100x100', '100x100 red blue'],
    ['40x20', '40x20 red blue'],
    ['40x20t', '40x20 red red'],
    ['40x20b', '40x20 blue blue'],
    ['40x20f', '20x20 red blue'],
    ['0x50', '50x50 red blue'],
    ['50x0', '50x50 red blue'],
  ] as const) {
    const { status, headers, bytes } = await get(`p_1.png?thumb=${size}`);
    assert.equal(status, 200);
    assert.equal(await look(bytes), expected, size);
    assert.equal(headers.get('content-type'), 'image/png');
    assert.equal(headers.get('content-disposition'), `inline; filename="${size}_p_1.png"`);
    assert.equal(headers.get('content-length'), String(bytes.length));
    const etag = headers.get('etag') ?? '';
    assert.equal((await get(`p_1.png?thumb=${size}`, { headers: { 'if-none-match': etag } })).status, 304);
  }
  assert.equal(stored('p_1.png').length, 7);
  assert.equal((await get('p_1.png?thumb=100x100', { method: 'HEAD' })).status, 200);
  assert.ok((await get('p_1.png')).bytes.equals(image));
});

test('a thumb has the format of its image, whatever the name says', async (t) => {
  const { put, get } = await startStage(t);
  for (const [name, image, type] of [
    ['a.jpg', picture().jpeg(), 'image/jpeg'],
    ['b.png', picture().webp(), 'image/webp'],
    ['c.gif', picture().gif(), 'image/gif'],
  ] as const) {
    await put(name, await image.toBuffer());
    const { headers, bytes } = await get(`${name}?thumb=100x100`);
    assert.equal(headers.get('content-type'), type);
    assert.equal(await look(bytes), '100x100 red blue');
  }
});

test('of an image that moves the thumb is its first frame', async (t) => {
  const { put, get } = await startStage(t);
  const frames = await Promise.all(['#f00', '#00f'].map((background) => frame(background)));
  for (const [name, format] of [
    ['a.gif', 'gif'],
    ['a.webp', 'webp'],
  ] as const) {
    const moving = await sharp(frames, { join: { animated: true } })
      .toFormat(format)
      .toBuffer();
    assert.equal((await sharp(moving).metadata()).pages, 2);
    await put(name, moving);
    const { bytes } = await get(`${name}?thumb=100x100`);
    assert.equal((await sharp(bytes).metadata()).pages ?? 1, 1);
    assert.equal(await look(bytes), '100x100 red red');
  }
});

function frame(background: string): Promise<Buffer> {
  return sharp({ create: { width: 50, height: 50, channels: 3, background } })
    .png()
    .toBuffer();
}

test('F-30 a thumb is turned as the camera was held, and tells nothing else that the image tells of itself', async (t) => {
  const { put, get } = await startStage(t);
  const exif = { IFD0: { Artist: 'somebody' }, IFD3: { GPSLatitude: '51/1 30/1 0/1', GPSLatitudeRef: 'N' } };
  // Turned by 180 degrees.
  const image = await picture()
    .withExif(exif)
    .withMetadata({ orientation: 3 })
    .withExifMerge(exif)
    .jpeg()
    .toBuffer();
  assert.ok(image.includes('somebody'));
  await put('a.jpg', image);
  const { bytes } = await get('a.jpg?thumb=40x20');
  assert.equal(await look(await picture().jpeg().toBuffer()), '200x200 red blue');
  assert.equal(await look(bytes), '40x20 blue red');
  const { exif: kept, orientation } = await sharp(bytes).metadata();
  assert.deepEqual([kept, orientation], [undefined, undefined]);
  assert.ok(!bytes.includes('somebody'));
});

test('F-15 in any other size, and of any other file, the file is sent as it is', async (t) => {
  const { put, get, stored, openedCount } = await startStage(t);
  const image = await picture().png().toBuffer();
  await put('p_2.png', image);
  for (const size of ['', '0x0', '-1', '1e9x1', '999999x999999', '41x20', '40x20 ', '100x100t', '../a'])
    assert.ok((await get(`p_2.png?thumb=${encodeURIComponent(size)}`)).bytes.equals(image), size);
  assert.equal(openedCount(), 0);
  assert.ok((await get('p_2.png?thumb=99999x99999')).bytes.equals(image), 'a size of too many pixels');
  assert.deepEqual(stored('p_2.png'), []);
  const others = [
    ['a.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'],
    ['a.txt', 'text'],
    ['a.png', 'no image'],
    ['a.tiff', await picture().tiff().toBuffer()],
    ['a.pdf', '%PDF-1.7\n'],
    ['b.png', ''],
  ] as const;
  const before = openedCount();
  for (const [name, content] of others) {
    await put(name, content);
    const { bytes } = await get(`${name}?thumb=100x100`);
    assert.ok(bytes.equals(Buffer.from(content)), name);
  }
  assert.equal(openedCount(), before);
});

test('an image of too many pixels is sent as it is, however small its file', async (t) => {
  const { service, put, get, stored } = await startStage(t);
  const create = { width: 8_000, height: 8_000, channels: 3, background: '#fff' } as const;
  const image = await sharp({ create }).png({ compressionLevel: 9 }).toBuffer();
  assert.ok(image.length < 1_000_000);
  await put('bomb.png', image);
  assert.ok((await get('bomb.png?thumb=100x100')).bytes.equals(image));
  assert.deepEqual(stored('bomb.png'), []);
  assert.ok(service.log.some(({ message }) => message === 'A thumbnail could not be created.'));
});

test('F-16 a thousand requests for a thumb make it once', async (t) => {
  const { put, get, openedCount } = await startStage(t);
  await put('p_3.png', await picture(1_000, 1_000).png().toBuffer());
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => get('p_3.png?thumb=100x100')));
  const [first] = answers;
  assert.ok(first);
  assert.equal(await look(first.bytes), '100x100 red blue');
  assert.ok(answers.every(({ bytes }) => bytes.equals(first.bytes)));
  assert.equal(openedCount(), 1);
  assert.ok((await get('p_3.png?thumb=100x100')).bytes.equals(first.bytes));
  assert.equal(openedCount(), 1);
});

test('an image that is broken is sent as it is, and not tried again for a minute', async (t) => {
  const clock = new MovableClock();
  const { put, get, openedCount } = await startStage(t, { parts: { clock } });
  const image = await picture().png().toBuffer();
  const broken = image.subarray(0, image.length / 2);
  await put('broken.png', broken);
  for (let count = 0; count < 3; count += 1)
    assert.ok((await get('broken.png?thumb=100x100')).bytes.equals(broken));
  assert.equal(openedCount(), 1);
  clock.move(61_000);
  assert.ok((await get('broken.png?thumb=100x100')).bytes.equals(broken));
  assert.equal(openedCount(), 2);
});

test('without sharp an image is sent as it is, and health says so to superusers', async (t) => {
  const absent = { isInstalled: () => false, load: async () => undefined };
  const { service, put, get } = await startStage(t, { parts: { sharp: absent } });
  const image = await picture().png().toBuffer();
  await put('a.png', image);
  assert.ok((await get('a.png?thumb=100x100')).bytes.equals(image));
  const { json } = await service.request('/api/health', { token: true });
  const sentence = 'No thumbs are made of images: the package sharp is not installed.';
  const warnings: readonly string[] = json.data.warnings;
  assert.ok(warnings.includes(sentence));
  assert.deepEqual((await service.request('/api/health')).json.data, {});
});

test('a thumb goes with its image, also when that is removed while it is made', async (t) => {
  const { service, collectionId, id, put, get, stored } = await startStage(t);
  const image = await picture(3_000, 3_000).png().toBuffer();
  await put('p_4.png', image);
  await get('p_4.png?thumb=100x100');
  assert.deepEqual(stored('p_4.png'), ['100x100_p_4.png']);
  await service.withInstance('default', async ({ files }) => {
    const asked = get('p_4.png?thumb=40x20');
    const removed = files.store.remove(`${collectionId}/${id}/p_4.png`);
    await Promise.all([asked, removed]);
  });
  assert.deepEqual(stored('p_4.png'), []);
  assert.equal((await get('p_4.png?thumb=100x100')).status, 404);
});

test('thumbs of a protected file are protected', async (t) => {
  const { put, get } = await startStage(t);
  await put('s.png', await picture().png().toBuffer(), 'safe');
  assert.equal((await get('s.png?thumb=100x100')).status, 404);
});
