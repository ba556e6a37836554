import type { Mutant } from './mutant.ts';

const tests = ['test/api/webhook-expunge.test.ts'];
const file = 'src/deliveries/log/expunge-event.ts';

/** What is promised of an event whose body was expunged. */
export const expungeMutants: readonly Mutant[] = [
  {
    name: 'what is hidden in an event goes with its body',
    file,
    from: 'hidden = NULL, context = NULL, expunged',
    to: 'context = NULL, expunged',
    tests,
  },
  {
    name: 'what a change has replaced goes with the body',
    file,
    from: 'hidden = NULL, context = NULL, expunged',
    to: 'hidden = NULL, expunged',
    tests,
  },
  {
    name: 'what receivers have answered goes with the body',
    file,
    from: "SET response_headers = '{}', response_body = ${nothing}",
    to: "SET response_headers = '{}'",
    tests,
  },
  {
    name: 'what waits is cancelled with the body',
    file,
    from: 'await cancelAll(tx, {',
    to: 'if (now < 0) await cancelAll(tx, {',
    tests,
  },
  {
    name: 'what waits behind an expunged event is let go',
    file,
    from: 'await releaseNext(tx, records, now);',
    to: '',
    tests,
  },
  {
    name: 'an event is expunged once',
    file,
    from: 'if (expunged !== undefined) return;',
    to: '',
    tests,
  },
  {
    name: 'no answer is kept to an attempt that was on its way',
    file: 'src/dispatch/settle.ts',
    from: 'await tx.run(clearExpunged(tx, settled));',
    to: '',
    tests,
  },
  {
    name: 'nothing is retried whose body was expunged',
    file: 'src/deliveries/log/delivery-log.ts',
    from: 'if (expunged !== null)',
    to: 'if (expunged === 0)',
    tests,
  },
  {
    name: 'a replay of all passes over what was expunged',
    file: 'src/deliveries/replays/replays.ts',
    from: 'AND w.expunged IS NULL`',
    to: '`',
    tests,
  },
  {
    name: 'a replay of what has failed passes over what was expunged',
    file: 'src/deliveries/replays/replays.ts',
    from: 'AND e.expunged IS NULL)`',
    to: ')`',
    tests,
  },
  {
    name: 'no filter finds an event whose body was expunged',
    file: 'src/deliveries/log/event-filter.ts',
    from: 'AND expunged IS NULL ORDER BY position',
    to: 'ORDER BY position',
    tests,
  },
  {
    name: 'a filter is not asked about a state before a change that was expunged',
    file: 'src/deliveries/log/logged-changes.ts',
    from: ' && expungedBefore === null',
    to: '',
    tests,
  },
  {
    name: 'a backfill tells of a record whose change was expunged',
    file: 'src/deliveries/replays/backfills.ts',
    from: ' AND e.expunged IS NULL AND (d.event',
    to: ' AND (d.event',
    tests: ['test/api/webhook-backfill.test.ts'],
  },
];
