import type { Mutant } from './mutant.ts';

/** Guards of what becomes of deliveries. */
export const deliveryMutants: readonly Mutant[] = [
  {
    name: 'results that arrive while others are being settled are settled together',
    file: 'src/webhooks/flights.ts',
    from: 'const room = settledTogetherMax - results.length;',
    to: 'const room = 1;',
    tests: ['src/webhooks/dispatcher.test.ts'],
  },
  {
    name: 'a delivery is settled by its id, whatever statistics say',
    file: 'src/webhooks/deliveries.ts',
    from: "sql`CASE ${status} WHEN 'pending' THEN TRUE ELSE FALSE END`",
    to: "sql`${status} = 'pending'`",
    tests: ['test/engines/pending-by-id.test.ts'],
  },
  {
    name: 'a retry by hand during an attempt is not lost when the attempt fails',
    file: 'src/webhooks/settle.ts',
    from: 'sql`d.due <> given.was_due AND',
    to: 'sql`FALSE AND',
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
    file: 'src/webhooks/settle.ts',
    from: '(given.put_off_until IS NULL OR d.due <> given.put_off_until)',
    to: 'TRUE',
    tests: ['test/nodes/hand-over.test.ts'],
  },
  {
    name: 'what comes late of an attempt does not write over those that were made since',
    file: 'src/webhooks/settle.ts',
    from: 'AND d.attempts <= given.counted_max',
    to: '',
    tests: ['src/webhooks/dispatcher.test.ts'],
  },
  {
    name: 'a failure that is stored twice is not taken for one that was asked for again',
    file: 'src/webhooks/settle.ts',
    from: 'isFailure ? after.attempts - 1 : after.attempts',
    to: 'after.attempts',
    tests: ['test/nodes/commit-cuts.test.ts'],
  },
  {
    name: 'what comes late of an attempt of an owner before does not set the count back',
    file: 'src/webhooks/settle.ts',
    from: 'AND d.attempts < given.attempts',
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
    file: 'src/webhooks/settle.ts',
    from: 'CASE WHEN ${isOurs(fence)} THEN NULL ELSE d.put_off_until END',
    to: 'd.put_off_until',
    tests: ['test/nodes/hand-over-retries.test.ts'],
  },
];
