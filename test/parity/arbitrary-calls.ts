import * as fc from 'fast-check';
import type { StoredValue } from '../../src/fields/field-type.ts';
import type { World } from './world.ts';

/** A table of places and moments, and calls of functions over them. */
export interface CallWorld extends Pick<World, 'columns' | 'rows'> {
  readonly calls: readonly string[];
}

const two = (min: number, max: number): fc.Arbitrary<string> =>
  fc.integer({ min, max }).map((value) => String(value).padStart(2, '0'));

const years = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1890, max: 2110 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 4, 100, 1582, 1600, 9998, 9999) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 9999 }) },
);

/** The ends of months and years more often than chance has them, and a few that there are not. */
const days = fc.oneof(
  fc.tuple(two(1, 12), two(1, 31)).map((parts) => parts.join('-')),
  fc.constantFrom(
    '01-01',
    '12-31',
    '02-28',
    '02-29',
    '02-30',
    '02-31',
    '03-01',
    '04-31',
    '00-10',
    '13-01',
    '01-32',
  ),
);

const dates = fc
  .tuple(fc.constantFrom('', '', '', '', '', '-'), years, days)
  .map(([sign, year, day]) => `${sign}${String(year).padStart(4, '0')}-${day}`);

const fractions = fc.oneof(
  fc.constantFrom(
    '',
    '',
    '.5',
    '.0005',
    '.9994',
    '.9995',
    '.99999',
    '.',
    '.123456789012345',
    '.1234567890123456',
  ),
  fc.nat(999).map((ms) => `.${String(ms).padStart(3, '0')}`),
);

const clocks = fc.oneof(
  fc.tuple(two(0, 25), two(0, 60)).map((parts) => parts.join(':')),
  fc
    .tuple(two(0, 23), two(0, 59), two(0, 60), fractions)
    .map(([hour, minute, second, fraction]) => `${hour}:${minute}:${second}${fraction}`),
);

const zones = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('', 'Z', 'z', ' Z', '+00:00', '-00:00', '+14:59', '+15:00', '-0100', ' '),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('+', '-', ' +'), two(0, 14), two(0, 59))
      .map(([sign, hour, minute]) => `${sign}${hour}:${minute}`),
  },
);

const julianDays = fc.oneof(
  fc.double({ min: 2_400_000, max: 2_500_000, noNaN: true }),
  fc.integer({ min: -10, max: 5_373_490 }).map((half) => half / 2),
  fc.constantFrom(0, -1, 0.5, 5373484, 5373484.49999, 5373484.5, 1e300, -1e300, 5e-324, 1e11, -1e12),
  fc.integer({ min: -2_000_000_000, max: 4_000_000_000 }),
  fc.double({ min: -1e11, max: 1e12, noNaN: true }),
);

const times = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(dates, fc.constantFrom(' ', ' ', 'T', 'T', '', '  ', 't'), clocks, zones)
      .map((parts) => parts.join('')),
  },
  { weight: 2, arbitrary: dates },
  { weight: 1, arbitrary: fc.tuple(clocks, zones).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: julianDays.map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      'now',
      'NOW',
      'subsec',
      'subsecond',
      'x',
      ' 2026-01-01',
      '2026-01-01 ',
      '2026-1-1',
      '2026-01-01x',
      '+2026-01-01',
      '1e400',
      '-1e400',
      ' 2460000.5 ',
      '12',
      '12:',
      '١٢:٠٠',
      `2026-01-01${' '.repeat(60)}`,
      '2026-01-01\n09:00',
      '[]',
      '{"a":1}',
    ),
  },
);

const letters = 'deFfgGHIjklmMpPRsSTuUVwWY'.split('');
const formats = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...letters).map((letter) => `%${letter}`) },
      { weight: 1, arbitrary: fc.constantFrom('-', ' ', '%%', 'é', '$1') },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => parts.join('|'));

const counts = fc.oneof(
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 0, max: 12_000 }),
  fc.constantFrom(1.5, 0.001, 0.0, 11.999, 176_545, 14_712),
);

const modifiers = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom('+', '-', ''),
        counts,
        fc.constantFrom('second', 'minute', 'hour', 'day'),
        fc.constantFrom('', 's'),
      )
      .map(([sign, count, unit, plural]) => `${sign}${count} ${unit}${plural}`),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom('+', '-', ''),
        counts.map(Math.trunc),
        fc.constantFrom('month', 'months', 'Years'),
      )
      .map(([sign, count, unit]) => `${sign}${Math.min(count, 14_712)} ${unit}`),
  },
  { weight: 2, arbitrary: fc.constantFrom('start of day', 'start of month', 'START OF YEAR') },
  { weight: 2, arbitrary: fc.nat(6).map((day) => `weekday ${day}`) },
);

const moments = fc
  .tuple(
    formats,
    fc.constantFrom('t', 't', 't', 'd', 'n', 'n', 'j', 'j.a', 'b'),
    fc.constantFrom(false, false, false, true),
    fc.array(modifiers, { maxLength: 4 }),
  )
  .map(([format, time, isUnixTime, steps]) => {
    const rest = [...(isUnixTime ? ['unixepoch'] : []), ...steps].map((step) => `, '${step}'`).join('');
    return `strftime('${format}', ${time}${rest})`;
  });

const degrees = fc.oneof(
  { weight: 3, arbitrary: fc.double({ min: -180, max: 180, noNaN: true }) },
  { weight: 3, arbitrary: fc.constantFrom(0, 90, -90, 180, -180, 23.321868, 42.697562, 1e-7) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(5e-324, -1e-200, 1e-100, 1e300, 1.7976931348623157e308, -360, 720.5),
  },
);

const places = [
  'n',
  'm',
  'j',
  'j.lon',
  'j.lat',
  'j.list.0',
  'b',
  'null',
  '@day',
  '23.32',
  '-42.5',
  '0',
  '90',
  'true',
];
const distances = fc
  .tuple(
    fc.constantFrom(...places),
    fc.constantFrom(...places),
    fc.constantFrom(...places),
    fc.constantFrom(...places),
  )
  .map((parts) => `geoDistance(${parts.join(', ')})`);

const columns = {
  t: { kind: 'text', isNullable: true },
  d: { kind: 'date', isNullable: false },
  n: { kind: 'number', isNullable: true },
  m: { kind: 'number', isNullable: false },
  b: { kind: 'bool', isNullable: true },
  j: { kind: 'json', isNullable: true },
} as const;

const dateFields = fc.oneof(
  fc.constant(''),
  fc
    .date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString().replace('T', ' ')),
);

const jsons: fc.Arbitrary<unknown> = fc.oneof(
  times,
  julianDays,
  fc.constantFrom(true, false, null, []),
  fc.record({
    a: fc.oneof(times, julianDays, fc.constantFrom(true, null)),
    lon: fc.oneof(degrees, fc.constantFrom('12', true, null)),
    lat: degrees,
  }),
  fc.record({ lon: degrees, lat: degrees, list: fc.array(degrees, { maxLength: 2 }) }),
);

const rows = fc
  .tuple(
    fc.option(times, { freq: 9 }),
    dateFields,
    fc.option(fc.oneof(degrees, julianDays), { freq: 9 }),
    fc.oneof(degrees, julianDays),
    fc.option(fc.nat(1), { freq: 5 }),
    fc.option(
      jsons.map((value) => JSON.stringify(value)),
      { freq: 9 },
    ),
  )
  .map((values): readonly StoredValue[] => values);

/** `callsMax` calls over as many rows. */
export function arbitraryCalls(callsMax: number): fc.Arbitrary<CallWorld> {
  return fc.record({
    columns: fc.constant(columns),
    rows: fc.array(rows, { minLength: callsMax, maxLength: callsMax }),
    calls: fc.array(fc.oneof({ weight: 4, arbitrary: moments }, { weight: 1, arbitrary: distances }), {
      minLength: callsMax,
      maxLength: callsMax,
    }),
  });
}
