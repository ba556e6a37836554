import type { Mutant } from './mutant.ts';

const tests = ['test/api/webhook-record-tests.test.ts'];
const file = 'src/records/read-test-event.ts';

/** What a test of an endpoint with a record promises. */
export const recordTestMutants: readonly Mutant[] = [
  {
    name: 'a key that may not read records has none sent',
    file,
    from: "if (!hasScope(caller, 'records:read'))",
    to: "if (!hasScope(caller, 'webhooks:write'))",
    tests,
  },
  {
    name: 'a key has no records sent of collections that it does not reach',
    file,
    from: 'requireReach(caller, collection);',
    to: '',
    tests,
  },
  {
    name: 'no records are sent of collections whose changes are told to nobody',
    file,
    from: 'if (!emitsEvents(collection))',
    to: 'if (!emitsEvents(collection) && wanted.recordId === collection.id)',
    tests,
  },
  {
    name: 'a test is no change of a record',
    file: 'src/dispatch/test-endpoint.ts',
    from: "const kind = record === undefined ? 'ping' : 'test';",
    to: "const kind = record === undefined ? 'ping' : record.bodyKind;",
    tests,
  },
  {
    name: 'a test with a record says that it is one',
    file: 'src/deliveries/deliveries.ts',
    from: "...(kind === 'test' && { isTest: true }),",
    to: '',
    tests,
  },
  {
    name: 'a replay sends no test again',
    file: 'src/deliveries/replays/replays.ts',
    from: 'e.kind${names.anyOf(resentKinds)}',
    to: "e.kind${names.anyOf([...resentKinds, 'test'])}",
    tests,
  },
];
