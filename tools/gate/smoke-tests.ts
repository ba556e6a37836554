/** A little of everything: what a change of any room is likely to break elsewhere. */
export const smokeTests: readonly string[] = [
  'test/api/records.test.ts',
  'test/api/record-lists.test.ts',
  'test/api/rules.test.ts',
  'test/api/batch.test.ts',
  'test/api/collections.test.ts',
  'test/api/auth.test.ts',
  'test/api/uploads.test.ts',
  'test/api/realtime.test.ts',
  'test/api/webhook-deliveries.test.ts',
  'test/process/cli.test.ts',
  'test/generated.test.ts',
];
