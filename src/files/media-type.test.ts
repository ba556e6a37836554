import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detectType, headBytesMax, isMediaType } from './media-type.ts';

const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex');
const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex');
const gif = Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1');
const zip = Buffer.from('PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.txt', 'latin1');
const compound = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(504)]);

async function typeOf(content: string | Uint8Array, name: string): Promise<string> {
  return detectType(typeof content === 'string' ? Buffer.from(content) : content, name);
}

test('the type of a file comes from its bytes, whatever its name', async () => {
  assert.equal(await typeOf(png, 'a.png'), 'image/png');
  assert.equal(await typeOf(png, 'a.html'), 'image/png');
  assert.equal(await typeOf(jpeg, 'a'), 'image/jpeg');
  assert.equal(await typeOf(gif, 'a.js'), 'image/gif');
  assert.equal(await typeOf('%PDF-1.7\n', 'a.png'), 'application/pdf');
  assert.equal(await typeOf(Buffer.from([1, 2, 3, 255]), 'a.png'), 'application/octet-stream');
  assert.equal(await typeOf('text', 'a.png'), 'text/plain');
  assert.equal(await typeOf('', 'a.png'), 'text/plain');
  assert.equal(await typeOf('a\0b', 'a.txt'), 'application/octet-stream');
  assert.equal(await typeOf(Buffer.from([0x61, 0xff]), 'a.txt'), 'application/octet-stream');
});

test('the name of a text decides its kind', async () => {
  assert.equal(await typeOf('{"a":1}', 'a.json'), 'application/json');
  assert.equal(await typeOf('a,b\n', 'a.CSV'), 'text/csv');
  assert.equal(await typeOf('a {}', 'a.css'), 'text/css');
  assert.equal(await typeOf('alert(1)', 'a.js'), 'text/javascript');
  assert.equal(await typeOf('hello', 'a.html'), 'text/html');
  assert.equal(await typeOf('hello', 'a.txt'), 'text/plain');
  assert.equal(await typeOf('hello', 'a'), 'text/plain');
});

test('a page or an image of elements is one under every name', async () => {
  assert.equal(await typeOf('<!DOCTYPE html><p>', 'a.png'), 'text/html');
  assert.equal(await typeOf('\n <!-- x --><HTML>', 'a.txt'), 'text/html');
  assert.equal(await typeOf('<script>alert(1)</script>', 'a.csv'), 'text/html');
  assert.equal(await typeOf('\u{feff}<html>', 'a.txt'), 'text/html');
  assert.equal(await typeOf('<svg xmlns="http://www.w3.org/2000/svg">', 'a.txt'), 'image/svg+xml');
  assert.equal(await typeOf('<?xml version="1.0"?><!-- x --><svg >', 'a.xml'), 'image/svg+xml');
  assert.equal(await typeOf('<?xml version="1.0"?><a/>', 'a.txt'), 'application/xml');
  assert.equal(await typeOf('<?xml version="1.0"?><rss/>', 'a.rss'), 'application/rss+xml');
});

test('the name of a document decides its type within its family only', async () => {
  assert.equal(await typeOf(zip, 'a.zip'), 'application/zip');
  assert.equal(await typeOf(zip, 'a.png'), 'application/zip');
  assert.match(await typeOf(zip, 'a.docx'), /wordprocessingml/);
  assert.equal(await typeOf(compound, 'a.doc'), 'application/msword');
  assert.equal(await typeOf(compound, 'a.html'), 'application/x-cfb');
});

test('a text that is cut inside a character, or longer than what is looked at, is a text', async () => {
  const text = Buffer.from(`a${'é'.repeat(headBytesMax)}`);
  assert.equal(await typeOf(text.subarray(0, headBytesMax), 'a.txt'), 'text/plain');
  assert.equal(await typeOf(text, 'a.txt'), 'text/plain');
  assert.equal(await typeOf(Buffer.from([0x61, 0xc3]), 'a.txt'), 'application/octet-stream');
});

test('bytes that break a format anywhere are told from without an error', async () => {
  for (const whole of [png, jpeg, gif, zip, compound])
    for (let length = 0; length <= whole.length; length += 1)
      assert.match(await typeOf(whole.subarray(0, length), 'a.bin'), /^[a-z]+\/[\w.+-]+$/);
});

test('no beginning of a text takes long to inspect', async () => {
  const beginnings = ['<!---->', '<!--', '<?xml?>', '<?xml ', '<!doctype svg>', '<!doctype svg', ' ', '<'];
  // A time that grows exponentially fails with the few; with the many it would have no end.
  for (const count of [28, headBytesMax]) {
    const startedMs = performance.now();
    for (const beginning of beginnings) assert.ok(await typeOf(beginning.repeat(count), 'a.txt'));
    assert.ok(performance.now() - startedMs < 1_000);
  }
});

test('a type is the wanted one under each of its names', () => {
  assert.equal(isMediaType('image/jpeg', 'image/jpg'), true);
  assert.equal(isMediaType('application/xml', 'text/xml; charset=utf-8'), true);
  assert.equal(isMediaType('image/png', 'image/PNG'), true);
  assert.equal(isMediaType('image/png', 'image/jpeg'), false);
  assert.equal(isMediaType('text/plain', 'text/html'), false);
});
