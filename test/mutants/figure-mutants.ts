import type { Mutant } from './mutant.ts';

const tests = ['test/api/webhook-figures.test.ts'];

/** Guards of the figures of endpoints. */
export const figureMutants: readonly Mutant[] = [
  {
    name: 'a delivery that is sent again is no second one in figures',
    file: 'src/dispatch/settle.ts',
    from: '.filter((one) => !again.has(one))',
    to: '',
    tests,
  },
  {
    name: 'tests and replays are not in figures',
    file: 'src/dispatch/settle.ts',
    from: "const isCounted = isFenced && !isTest(kind) && kind !== 'backfill' && !isReplay;",
    to: 'const isCounted = true;',
    tests,
  },
  {
    name: 'figures are never better than what happened',
    file: 'src/deliveries/endpoint-days.ts',
    from: 'return Math.ceil(whole / unit) * unit;',
    to: 'return Math.floor(whole / unit) * unit;',
    tests,
  },
  {
    name: 'days of figures are removed when they are old',
    file: 'src/deliveries/log/trim-log.ts',
    from: 'await database.write((tx) => trimDays(tx, dueClock.now()));',
    to: '',
    tests,
  },
];
