import type { Mutant } from './mutant.ts';

const guards = ['test/api/revert-guards.test.ts'];
const past = ['test/api/record-history.test.ts'];
const references = ['test/api/undeleted-references.test.ts'];
const revert = 'src/records/revert-record.ts';

/** Guards of the history of records, and of reverts. */
export const revertMutants: readonly Mutant[] = [
  {
    name: 'a revert is of the revision that was looked at',
    file: revert,
    from: "if (write.kind === 'update') requireExpected([write.revision], existing);",
    to: "if (write.kind === 'update') void 0;",
    tests: guards,
  },
  {
    name: 'an undelete creates no record that there is again',
    file: revert,
    from: 'if (!isTaken) throw error;',
    to: 'throw error;',
    tests: guards,
  },
  {
    name: 'a revert compares If-Match',
    file: revert,
    from: 'requireExpected(expected, existing);',
    to: '',
    tests: guards,
  },
  {
    name: 'a revert reads its event again in its transaction',
    file: revert,
    from: 'const state = stateOf(now);',
    to: 'const state = stateOf(event);',
    tests: guards,
  },
  {
    name: 'a key that may not read records does not read them by a revert',
    file: revert,
    from: "if (!hasScope(caller, 'records:read'))",
    to: 'if (false)',
    tests: guards,
  },
  {
    name: 'a key reads the history of the collections that it reaches',
    file: 'src/records/record-history.ts',
    from: 'requireReach(caller, collection);',
    to: '',
    tests: guards,
  },
  {
    name: 'no history is looked for where there is none',
    file: 'src/records/record-history.ts',
    from: 'if (emitsEvents(collection)) return collection;',
    to: 'return collection;',
    tests: past,
  },
  {
    name: 'a record did not exist after its delete',
    file: revert,
    from: "if (choice.by === 'time' && event.kind === 'record.delete')",
    to: 'if (false)',
    tests: past,
  },
  {
    name: 'what was expunged is in no history',
    file: 'src/events/record-events.ts',
    from: "typeof expunged === 'string'\n        ? undefined",
    to: "typeof expunged === 'number'\n        ? undefined",
    tests: past,
  },
  {
    name: 'a past value that the definition refuses stays out',
    file: 'src/records/restored-values.ts',
    from: 'const problem = type.check(stored, options, before);\n  if (problem !== undefined)',
    to: 'const problem = type.check(stored, options, before);\n  if (problem !== undefined && false)',
    tests: past,
  },
  {
    name: 'a past value does not become another one',
    file: 'src/records/restored-values.ts',
    from: "if (isSame(JSON.parse(type.toJson(stored, options)), value, type.type === 'json'))",
    to: 'if (true)',
    tests: past,
  },
  {
    name: 'what is a secret by now is in no history',
    file: 'src/records/record-history.ts',
    from: '.filter(([name]) => !secrets.has(name))',
    to: '',
    tests: past,
  },
  {
    name: 'a field of files stays as it is without one of them',
    file: 'src/records/restored-values.ts',
    from: 'if (values.length > 0)',
    to: 'if (false)',
    tests: references,
  },
  {
    name: 'a relation comes back to those that exist',
    file: revert,
    from: 'if (missing.length === 0) continue;',
    to: 'continue;',
    tests: references,
  },
  {
    name: 'changes of other requests are none of a delete',
    file: 'src/events/record-events.ts',
    from: ' AND trace = ${trace}',
    to: '',
    tests: references,
  },
  {
    name: 'the feed refuses a cursor of events that a restore has lost',
    file: 'src/deliveries/log/feed.ts',
    from: 'if (await isAhead(database, position))',
    to: 'if (false)',
    tests: ['test/api/webhook-feed.test.ts'],
  },
  {
    name: 'realtime reports a cursor of changes that a restore has lost',
    file: 'src/realtime/apply-subscriptions.ts',
    from: ' || (await isAhead(instance.database, position))',
    to: '',
    tests: ['test/api/realtime-resume.test.ts'],
  },
];
