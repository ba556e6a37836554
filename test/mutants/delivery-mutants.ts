import type { Mutant } from './mutant.ts';

/** Guards of what becomes of deliveries. */
export const deliveryMutants: readonly Mutant[] = [
  {
    name: 'a delivery is settled by its id, whatever statistics say',
    file: 'src/webhooks/deliveries.ts',
    from: "sql`CASE ${status} WHEN 'pending' THEN TRUE ELSE FALSE END`",
    to: "sql`${status} = 'pending'`",
    tests: ['test/engines/pending-by-id.test.ts'],
  },
  {
    name: 'a retry by hand during an attempt is not lost when the attempt fails',
    file: 'src/webhooks/to-settlement.ts',
    from: 'isAskedAgain: isMovedFrom(dues)',
    to: 'isAskedAgain: sql`FALSE`',
    tests: ['test/api/webhook-deliveries.test.ts'],
  },
  {
    name: 'two moves of a delivery in one millisecond are told from none',
    file: 'src/webhooks/deliveries.ts',
    from: '? before - 1 : now',
    to: '? now : now',
    tests: ['test/api/webhook-deliveries.test.ts'],
  },
  {
    name: 'a delivery that was handed over is not taken for one that was asked for again',
    file: 'src/webhooks/to-settlement.ts',
    from: '[state.due, flight.putOffUntil]',
    to: '[state.due]',
    tests: ['test/nodes/hand-over.test.ts'],
  },
  {
    name: 'what comes late of an attempt does not write over those that were made since',
    file: 'src/webhooks/deliveries.ts',
    from: 'AND attempts <= ${countedMax(settlement)}',
    to: '',
    tests: ['src/webhooks/dispatcher.test.ts'],
  },
  {
    name: 'a failure that is stored twice is not taken for one that was asked for again',
    file: 'src/webhooks/deliveries.ts',
    from: 'isFailure ? after.attempts - 1 : after.attempts',
    to: 'after.attempts',
    tests: ['test/nodes/commit-cuts.test.ts'],
  },
  {
    name: 'what comes late of an attempt of an owner before does not set the count back',
    file: 'src/webhooks/deliveries.ts',
    from: 'AND attempts < ${after.attempts}',
    to: '',
    tests: ['src/webhooks/dispatcher.test.ts'],
  },
  {
    name: 'a retry by hand that was asked for before a hand-over is not forgotten',
    file: 'src/webhooks/deliveries.ts',
    from: 'ELSE CAST(${askedAgainDue(until)} AS bigint)',
    to: 'ELSE CAST(${until} AS bigint)',
    tests: ['test/nodes/hand-over-retries.test.ts'],
  },
  {
    name: 'a retry by hand after a hand-over is not made beside the attempt that is on its way',
    file: 'src/webhooks/deliveries.ts',
    from: 'putOffUntil > move.now',
    to: 'putOffUntil < 0',
    tests: ['test/nodes/hand-over-retries.test.ts'],
  },
  {
    name: 'what is asked for after a handed-over attempt of it is over is not put off',
    file: 'src/webhooks/deliveries.ts',
    from: 'CASE WHEN ${fence} THEN NULL ELSE put_off_until END',
    to: 'put_off_until',
    tests: ['test/nodes/hand-over-retries.test.ts'],
  },
];
