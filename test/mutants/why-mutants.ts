import type { Mutant } from './mutant.ts';

const tests = ['test/api/webhook-why.test.ts'];

/** Guards of what is told of why an endpoint was sent an event, or was not. */
export const whyMutants: readonly Mutant[] = [
  {
    name: 'a key that is bound to endpoints is not told why others were sent an event',
    file: 'src/http/routes/events.ts',
    from: "id: 'explainEvent',",
    to: "id: 'explainEvent', endpointKeys: 'narrowed',",
    tests,
  },
  {
    name: 'of what was false in a filter, a key is told what it may name alone',
    file: 'src/deliveries/why/false-comparisons.ts',
    from: 'return values !== undefined && !values.isGuarded;',
    to: 'return true;',
    tests,
  },
  {
    name: 'the text of a rule is shown to who may read definitions alone',
    file: 'src/deliveries/why/explain-event.ts',
    from: "const isHidden = !hasScope(caller, 'collections:read') || !reaches(caller, collection);",
    to: 'const isHidden = !reaches(caller, collection);',
    tests,
  },
  {
    name: 'a key that reads no records is not shown what an address was compared with',
    file: 'src/deliveries/why/false-comparisons.ts',
    from: ' && !values.isGuarded',
    to: '',
    tests,
  },
  {
    name: 'the values of an account’s filter are those that the account may see',
    file: 'src/deliveries/why/false-comparisons.ts',
    from: 'const values = findComparedValues(scope, base, comparison);',
    to: 'const values = findComparedValues({ ...scope, input: ruleInputOfCaller(query.caller) }, base, comparison);',
    tests,
  },
  {
    name: 'an address that is hidden has no value in why an endpoint was not sent an event',
    file: 'src/query/compared-values.ts',
    from: 'return guard === undefined ? operand :',
    to: 'return guard !== undefined ? operand :',
    tests,
  },
  {
    name: 'warnings of a filter say nothing of fields that the author of a change may not name',
    file: 'src/http/routes/endpoints.ts',
    from: 'names: database.names, now, author: caller }),',
    to: 'names: database.names, now }),',
    tests: ['test/api/webhook-filter-warnings.test.ts'],
  },
  {
    name: 'a body that was expunged is no state before',
    file: 'src/deliveries/log/logged-changes.ts',
    from: ' && expungedBefore === null',
    to: '',
    tests,
  },
];
