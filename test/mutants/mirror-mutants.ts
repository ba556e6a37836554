import type { Mutant } from './mutant.ts';

const unowned = ['test/api/webhook-transitions.test.ts'];
const reconciles = ['test/api/webhook-reconcile.test.ts'];
const owned = ['test/api/account-mirrors.test.ts'];

/** Guards of what endpoints with transitions are told. */
export const mirrorMutants: readonly Mutant[] = [
  {
    name: 'the deletion of a record is sent to those alone that hold it',
    file: 'src/deliveries/transitions.ts',
    from: "if (kind === 'record.delete') return isHeld ? 'change' : undefined;",
    to: "if (kind === 'record.delete') return 'change';",
    tests: unowned,
  },
  {
    name: 'a leave has the state before the change, and not that which made the record leave',
    file: 'src/deliveries/transitions.ts',
    from: 'dataJson: beforeJson?.() ?? JSON.stringify({ id: event.record })',
    to: 'dataJson: event.dataJson',
    tests: unowned,
  },
  {
    name: 'a transition is sent to the endpoints alone for which it is one',
    file: 'src/deliveries/fan-out.ts',
    from: 'if (isTransition(event.kind)) return isNamed;',
    to: 'if (isTransition(event.kind)) return true;',
    tests: unowned,
  },
  {
    name: 'an endpoint with transitions has conditions',
    file: 'src/endpoints/endpoint.ts',
    from: 'transitions && !hasConditions(settings)',
    to: 'false',
    tests: unowned,
  },
  {
    name: 'an endpoint with transitions has no filter about a change',
    file: 'src/endpoints/endpoint.ts',
    from: 'transitions && filter === undefined && isAboutChange(settings.filter)',
    to: 'false',
    tests: unowned,
  },
  {
    name: 'an enter or a leave for an account is appended only while the record is as the event left it',
    file: 'src/deliveries/accounts/decide-transitions.ts',
    from: "(transition !== 'change' && !isCurrent)",
    to: '(false)',
    tests: owned,
  },
  {
    name: 'the last state of a deleted record is not sent to an account that could not view it',
    file: 'src/deliveries/accounts/decide-transitions.ts',
    from: 'const isUnseen = isDelete && isHeld && !isMatch;',
    to: 'const isUnseen = false;',
    tests: owned,
  },
  {
    name: 'an account is told late by the id alone to delete what it holds',
    file: 'src/deliveries/log/past-events.ts',
    from: "if (transitions && kindForReceivers(event.kind) === 'record.delete') return idOf(instance, event);",
    to: '',
    tests: owned,
  },
  {
    name: 'the records of a collection that an endpoint has dropped do not match',
    file: 'src/deliveries/replays/reconcile-records.ts',
    from: '(isSubscribed ? endpointCondition',
    to: '(true ? endpointCondition',
    tests: reconciles,
  },
  {
    name: 'a change of a related record has endpoints reconciled',
    file: 'src/deliveries/replays/reconcile-watch.ts',
    from: 'if (touched.length > 0) await',
    to: 'if (false) await',
    tests: reconciles,
  },
  {
    name: 'a change of a view rule has endpoints reconciled',
    file: 'src/http/routes/collections.ts',
    from: 'await reconcileAll(tx, instance);',
    to: '',
    tests: owned,
  },
  {
    name: 'a record whose state an endpoint may lack is sent again',
    file: 'src/deliveries/replays/reconcile-records.ts',
    from: "isHeldBy(names, key, 'whole')",
    to: 'isHeldBy(names, key)',
    tests: reconciles,
  },
  {
    name: 'a leave of the feed has the state before the change',
    file: 'src/deliveries/log/feed-items.ts',
    from: "const state = moved.transition === 'enter' ? row.body : states.get(moved.before ?? 0);",
    to: 'const state = row.body;',
    tests: ['test/api/feed-transitions.test.ts'],
  },
  {
    name: 'the feed tells of no record that has not met its filter',
    file: 'src/deliveries/log/feed-transitions.ts',
    from: 'if (transition === undefined) return [];',
    to: '',
    tests: ['test/api/feed-transitions.test.ts'],
  },
];
