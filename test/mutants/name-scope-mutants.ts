import type { Mutant } from './mutant.ts';

const tests = ['test/api/filter-access.test.ts'];

/** Guards of what the filters and sorts of a caller may name. */
export const nameScopeMutants: readonly Mutant[] = [
  {
    name: 'no key that is bound to endpoints searches the bodies of events',
    file: 'src/deliveries/log/searched-body.ts',
    from: 'if (reachedEndpoints(caller) !== null) return {};',
    to: '',
    tests: ['test/api/webhook-events.test.ts'],
  },
  {
    name: 'counts of collections are those that a key reaches',
    file: 'src/records/collection-stats.ts',
    from: '!collection.system && reaches(caller, collection)',
    to: '!collection.system',
    tests: ['test/api/collection-stats.test.ts'],
  },
  {
    name: 'a search finds no records of a collection whose list rule admits nobody',
    file: 'src/records/search-records.ts',
    from: ".filter((collection) => !isLocked(collection, ['listRule'], caller))",
    to: '.filter(() => true)',
    tests: ['test/api/search-records.test.ts'],
  },
  {
    name: 'a search finds only records that meet the list rule',
    file: 'src/records/search-records.ts',
    from: 'if (rule !== undefined) scope.addRule(parseRule(rule));',
    to: '',
    tests: ['test/api/search-records.test.ts'],
  },
  {
    name: 'the filter of a key that reads no records names what webhooks show, and no more',
    file: 'src/access/caller.ts',
    from: "return hasScope(caller, 'records:read') ? 'everything' : 'own';",
    to: "return 'everything';",
    tests,
  },
  {
    name: 'a filter that may name the record alone leads to no other',
    file: 'src/query/record-scope.ts',
    from: "if (scope === 'own' && reached",
    to: "if (scope !== 'own' && reached",
    tests,
  },
  {
    name: 'what a filter counts is guarded like what it names',
    file: 'src/query/record-scope.ts',
    from: 'const reached = [...path.steps, ...(path.counted === undefined ? [] : [path.counted])];',
    to: 'const reached = path.steps;',
    tests: [...tests, 'test/api/relation-filters.test.ts'],
  },
  {
    name: 'a filter is tested with the names of who tests it',
    file: 'src/deliveries/log/test-filter.ts',
    from: ', author: caller };',
    to: ' };',
    tests,
  },
  {
    name: 'a backfill counts with the names of who requests it',
    file: 'src/deliveries/endpoints/request-backfill.ts',
    from: 'now, author: caller };',
    to: 'now };',
    tests,
  },
  {
    name: 'the filter of an endpoint has the names of who writes it',
    file: 'src/endpoints/endpoint.ts',
    from: ', ...(!isSame && { author })',
    to: '',
    tests,
  },
];
