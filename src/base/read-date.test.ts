import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDate, readDateOrPeriod, toDate } from './read-date.ts';

test('every documented layout becomes the wire format', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['2026-11-20 09:35:20.114Z', '2026-11-20 09:35:20.114Z'],
    ['2026-11-20', '2026-11-20 00:00:00.000Z'],
    ['2026-11-20T09:35:20', '2026-11-20 09:35:20.000Z'],
    ['2026-11-20T09:35:20Z', '2026-11-20 09:35:20.000Z'],
    ['2026-11-20T09:35:20.1Z', '2026-11-20 09:35:20.100Z'],
    ['2026-11-20T09:35:20.123999999Z', '2026-11-20 09:35:20.123Z'],
    ['2026-11-20T09:35:20+02:00', '2026-11-20 07:35:20.000Z'],
    ['2026-11-20T09:35:20.5-03:30', '2026-11-20 13:05:20.500Z'],
    ['2026-11-20T09:35:20-0700', '2026-11-20 16:35:20.000Z'],
    ['2026-11-20 09:35:20', '2026-11-20 09:35:20.000Z'],
    ['2026-11-20 09:35:20.25', '2026-11-20 09:35:20.250Z'],
    ['2026-11-20 09:35:20Z', '2026-11-20 09:35:20.000Z'],
    ['2026-11-20 09:35:20+02:00', '2026-11-20 07:35:20.000Z'],
    ['2026-11-20 09:35:20+0200', '2026-11-20 07:35:20.000Z'],
    ['2026-11-20 09:35:20 +0200', '2026-11-20 07:35:20.000Z'],
    ['2026-11-20 09:35:20.123456 +0200 CEST', '2026-11-20 07:35:20.123Z'],
    ['Fri, 20 Nov 2026 09:35:20 GMT', '2026-11-20 09:35:20.000Z'],
    ['Fri, 20 Nov 2026 09:35:20 +0200', '2026-11-20 07:35:20.000Z'],
    ['20 Nov 26 09:35 UTC', '2026-11-20 09:35:00.000Z'],
    ['20 Nov 69 09:35 -0100', '1969-11-20 10:35:00.000Z'],
    ['Friday, 20-Nov-26 09:35:20 UTC', '2026-11-20 09:35:20.000Z'],
    ['Fri Nov 20 09:35:20 2026', '2026-11-20 09:35:20.000Z'],
    ['Fri Nov  6 09:35:20 2026', '2026-11-06 09:35:20.000Z'],
    ['Fri Nov 20 09:35:20 MST 2026', '2026-11-20 09:35:20.000Z'],
    ['Fri Nov 20 09:35:20 GMT+3 2026', '2026-11-20 06:35:20.000Z'],
    ['Fri Nov 20 09:35:20 -0700 2026', '2026-11-20 16:35:20.000Z'],
    ['20 Nov 2026', '2026-11-20 00:00:00.000Z'],
    ['2024-02-29', '2024-02-29 00:00:00.000Z'],
    ['0050-01-02', '0050-01-02 00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31 23:59:59.999Z'],
    ['2026-12-31T24:00:00Z', '2027-01-01 00:00:00.000Z'],
    ['2024-02-28 24:00:00.000+02:00', '2024-02-28 22:00:00.000Z'],
    [' 2026-11-20\n', '2026-11-20 00:00:00.000Z'],
    ['', ''],
    ['  ', ''],
    ['0001-01-01T00:00:00Z', ''],
    ['0001-01-01 00:00:00.000Z', ''],
  ];
  for (const [text, expected] of cases) assert.equal(readDate(text), expected, text);
});

test('everything else is no date, days that do not exist included', () => {
  const texts = [
    'now', '0', '1700000000', '2026', '2026-11', '2026-02-30', '2025-02-29', '1900-02-29', '2026-13-01', '2026-00-10',
    '2026-11-00', '2026-11-31', '2026-11-20T24:00:01Z', '2026-11-20T24:00:00.001Z', '2026-11-20T25:00:00Z', '9999-12-31T24:00:00Z', '07.01.2024', '2024-1-7',
    '1/7/2024', 'tomorrow', '30 Feb 2026', 'Mon, 31 Jun 2026 09:35:20 GMT', '2026-11-20T09:60:00Z', '2026-06-30T23:59:60Z', '2026-11-20T09:35Z',
    '2026-11-20T09:35:20+25:00', '2026-11-20T09:35:20+02:60', '2026-11-20 09:35:20.Z', '2026-11-20t',
    '٢٠٢٦-11-20', '+002026-11-20', '-2026-11-20', '12026-11-20', '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00', 'Xyz, 20 Nov 2026 09:35:20 GMT', '20 Foo 2026', '3:04PM',
    '1'.repeat(100_000), `2026-11-20T09:35:20.${'1'.repeat(100)}Z`, 'constructor',
  ]; // prettier-ignore
  for (const text of texts) assert.equal(readDate(text), undefined, JSON.stringify(text.slice(0, 60)));
});

test('a timestamp in the wire format is read like one in any other format', () => {
  const two = (number: number): string => String(number).padStart(2, '0');
  const check = (date: string, clock: string): void =>
    assert.equal(readDate(`${date} ${clock}`), readDate(`${date}T${clock}`), `${date} ${clock}`);
  for (const year of ['0000', '0001', '0004', '1900', '2000', '2023', '2024', '9999'])
    for (let month = 0; month <= 19; month += 1)
      for (let day = 0; day <= 39; day += 1) check(`${year}-${two(month)}-${two(day)}`, '12:34:56.789Z');
  for (let number = 0; number <= 99; number += 1)
    for (const clock of [`${two(number)}:00:00`, `00:${two(number)}:00`, `00:00:${two(number)}`])
      check('2026-11-20', `${clock}.000Z`);
  check('0001-01-01', '00:00:00.000Z');
});

test('where periods are read, a year and a month are their first instant', () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['2026', '2026-01-01 00:00:00.000Z'],
    ['2026-11', '2026-11-01 00:00:00.000Z'],
    [' 2026-11 ', '2026-11-01 00:00:00.000Z'],
    ['2026-11-20', '2026-11-20 00:00:00.000Z'],
    ['0001', ''],
    ['', ''],
    ['2026-13', undefined],
    ['2026-00', undefined],
    ['26', undefined],
    ['02026', undefined],
    ['2026-1', undefined],
  ];
  for (const [text, expected] of cases) assert.equal(readDateOrPeriod(text), expected, text);
});

test('a moment outside of the years of four digits has no date', () => {
  assert.equal(toDate(0), '1970-01-01 00:00:00.000Z');
  assert.equal(toDate(253_402_300_799_999), '9999-12-31 23:59:59.999Z');
  for (const epochMs of [253_402_300_800_000, -62_167_219_200_001, 1e300, -1e300, NaN, Infinity])
    assert.equal(toDate(epochMs), undefined, String(epochMs));
});
