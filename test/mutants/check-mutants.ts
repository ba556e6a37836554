import type { Mutant } from './mutant.ts';

/** Guards of the routes that check what is not saved yet, and of the counts that they show. */
export const checkMutants: readonly Mutant[] = [
  {
    name: 'a check of a filter is of a collection that the API key reaches',
    file: 'src/records/check-filter.ts',
    from: 'requireReach(input.caller, collection);',
    to: '',
    tests: ['test/api/filter-check.test.ts'],
  },
  {
    name: 'a check of a rule tells an API key nothing of collections that it does not reach',
    file: 'src/records/check-filter.ts',
    from: 'collections.all().filter((one) => reaches(input.caller, one))',
    to: 'collections.all()',
    tests: ['test/api/filter-check.test.ts'],
  },
  {
    name: 'a check takes one text at a time',
    file: 'src/records/check-filter.ts',
    from: 'for (const other of others)',
    to: 'for (const other of others.slice(1))',
    tests: ['test/api/filter-check.test.ts'],
  },
  {
    name: 'a rule that does not compile for its accounts is found',
    file: 'src/definitions/check-rules.ts',
    from: 'errorFor(guest) ?? (isForNone ? ofAccounts[0] : undefined)',
    to: 'errorFor(guest)',
    tests: ['src/definitions/check-rules.test.ts'],
  },
  {
    name: 'what would allow a URL is for the operator alone',
    file: 'src/endpoints/endpoint-options.ts',
    from: "if (check.kind === 'accepted' || isForOperator) return check;",
    to: 'if (isForOperator || check.kind.length > 0) return check;',
    tests: ['test/api/webhook-endpoint-drafts.test.ts'],
  },
  {
    name: 'a check of an endpoint finds what cannot be changed later',
    file: 'src/deliveries/endpoints/check-endpoint.ts',
    from: '...problemsOf((failed) => checkFixed(body, existing, failed)),',
    to: '',
    tests: ['test/api/webhook-endpoint-drafts.test.ts'],
  },
  {
    name: 'no attempt is foretold for a time at which a delivery is too old',
    file: 'src/deliveries/endpoints/check-endpoint.ts',
    from: 'all.filter((at) => at <= maxAgeSeconds)',
    to: 'all',
    tests: ['test/api/webhook-endpoint-drafts.test.ts'],
  },
  {
    name: 'a count of events looks at so many and no more',
    file: 'src/deliveries/log/count-events.ts',
    from: 'ORDER BY position DESC${limit(eventsMax)}',
    to: 'ORDER BY position DESC${limit(eventsMax * 1_000)}',
    tests: ['src/deliveries/log/count-events.test.ts'],
  },
  {
    name: 'no count is shown of an hour whose events were trimmed',
    file: 'src/deliveries/log/count-events.ts',
    from: 'const completeFrom = Math.max(keptFrom, countedFrom);',
    to: 'const completeFrom = countedFrom;',
    tests: ['src/deliveries/log/count-events.test.ts'],
  },
];
