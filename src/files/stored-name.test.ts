import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storedName } from './stored-name.ts';

/** What clients call their files, and what stands before and behind the random part of the stored name. */
const names: readonly (readonly [original: string, start: RegExp, end: string])[] = [
  ['photo.png', /^photo$/, '.png'],
  ['Photo of Me (2).JPG', /^photo_of_me_2$/, '.jpg'],
  ['photoOfMe.jpeg', /^photo_of_me$/, '.jpeg'],
  ['backup.tar.gz', /^backup$/, '.tar.gz'],
  ['report.2024.gz', /^report_2024$/, '.gz'],
  ['my.holiday.jpg', /^my_holiday$/, '.jpg'],
  ['site.webmanifest', /^site$/, '.webmanifest'],
  ['a.png', /^a[a-z0-9]{10}$/, '.png'],
  ['', /^[a-z0-9]{10}$/, '.txt'],
  ['.', /^[a-z0-9]{10}$/, '.txt'],
  ['..', /^[a-z0-9]{10}$/, '.txt'],
  ['.htaccess', /^[a-z0-9]{10}$/, '.htaccess'],
  ['notes', /^notes$/, '.txt'],
  ['notes.', /^notes$/, '.txt'],
  ['notes. ', /^notes$/, '.txt'],
  ['v1.2 final', /^v1_2_final$/, '.txt'],
  ['x::$DATA', /^x_data$/, '.txt'],
  ['../../etc/passwd', /^passwd$/, '.txt'],
  ['..\\..\\win.ini', /^win$/, '.ini'],
  ['C:\\x\\CON', /^con$/, '.txt'],
  ['/', /^[a-z0-9]{10}$/, '.txt'],
  ['%2e%2e%2fpasswd', /^2e_2e_2fpasswd$/, '.txt'],
  ['a.php%00.png', /^a_php_00$/, '.png'],
  ['a\0b\r\nSet-Cookie: x.png', /^a_b_set_cookie_x$/, '.png'],
  ['"; filename=evil.exe', /^filename_evil$/, '.exe'],
  ['😀🎉.png', /^[a-z0-9]{10}$/, '.png'],
  ['photo\u202egnp.exe', /^photo_gnp$/, '.exe'],
  ['Ünïcode.png', /^n_code$/, '.png'],
  [`${'a'.repeat(300)}.png`, /^a{100}$/, '.png'],
  [`x.${'a'.repeat(300)}`, /^x_a{98}$/, '.txt'],
  [`${'.'.repeat(100_000)}png`, /^[a-z0-9]{10}$/, '.png'],
  [`${'_'.repeat(100_000)}.png`, /^[a-z0-9]{10}$/, '.png'],
];

test('F-01 F-08 F-26 a stored name is made of letters, digits and an extension, whatever a client calls its file', () => {
  for (const [original, start, end] of names) {
    const name = storedName(original, 'text/plain');
    const shown = JSON.stringify([original.slice(0, 40), name]);
    assert.match(name, /^[a-z0-9_]+(?:\.[a-z0-9]+){1,2}$/, shown);
    assert.ok(name.endsWith(end), shown);
    const before = name.slice(0, -end.length);
    assert.match(before.slice(-11), /^_[a-z0-9]{10}$/, shown);
    assert.match(before.slice(0, -11), start, shown);
    assert.ok(name.length <= 131, shown);
  }
});

test('a name has the usual extension of its type where its client gave none, and none where there is none', () => {
  assert.match(storedName('photo', 'image/jpeg'), /^photo_[a-z0-9]{10}\.jpg$/);
  assert.match(storedName('thing', 'application/octet-stream'), /^thing_[a-z0-9]{10}$/);
});

test('no two stored names are the same', () => {
  const made = Array.from({ length: 1_000 }, () => storedName('photo.png', 'image/png'));
  assert.equal(new Set(made).size, made.length);
});
