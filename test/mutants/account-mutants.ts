import type { Mutant } from './mutant.ts';

const past = ['test/api/past-visibility.test.ts'];
const decisions = ['test/api/account-endpoints.test.ts'];

/** Guards of what accounts are told by endpoints of their own. */
export const accountMutants: readonly Mutant[] = [
  {
    name: 'a retry asks whether an account may still view what it sends',
    file: 'src/webhooks/accounts/past-events.ts',
    from: 'return state.attempts > 0 || created < updated',
    to: 'return created < updated',
    tests: past,
  },
  {
    name: 'a backlog that is sent after a pause asks whether an account may still view it',
    file: 'src/webhooks/accounts/past-events.ts',
    from: 'state.attempts > 0 || created < updated',
    to: 'state.attempts > 0',
    tests: past,
  },
  {
    name: 'the signed feed asks whether an account may still view what it shows',
    file: 'src/webhooks/log/feed.ts',
    from: "if (endpoint.owner !== '') return pastMessage",
    to: 'if (false) return pastMessage',
    tests: past,
  },
  {
    name: 'the log shows an account what it may still view',
    file: 'src/webhooks/log/list-events.ts',
    from: "if (caller.kind === 'user' && view.collection !== '') {",
    to: 'if (false) {',
    tests: past,
  },
  {
    name: 'an account is told of a past deletion by the id alone',
    file: 'src/webhooks/accounts/past-events.ts',
    from: 'body: thinBody(event, instance.id), isThin: false, context: undefined',
    to: 'body: event.body, isThin: false, context: undefined',
    tests: past,
  },
  {
    name: 'the names of fields that were hidden since are not sent again',
    file: 'src/webhooks/accounts/past-events.ts',
    from: 'changed: context.changed.filter((name) => shown.has(name))',
    to: 'changed: context.changed.filter((name) => shown.size > 0 && name)',
    tests: past,
  },
  {
    name: 'a write does not ask the conditions of endpoints of accounts',
    file: 'src/webhooks/fan-out.ts',
    from: 'const wanting = unowned.filter(',
    to: 'const wanting = [...unowned, ...owned].filter(',
    tests: decisions,
  },
  {
    name: 'what an account may be told is in the log, whatever webhooks.events says',
    file: 'src/webhooks/fan-out.ts',
    from: ' || owned.some((one) => wants(one, event));',
    to: ';',
    tests: decisions,
  },
  {
    name: 'an endpoint for which it takes too long misses nothing',
    file: 'src/webhooks/accounts/decide-step.ts',
    from: 'failed.set(number, { at: position - 1, cause })',
    to: 'failed.set(number, { at: position, cause })',
    tests: decisions,
  },
  {
    name: 'endpoints with the condition of a slow one are not passed over',
    file: 'src/webhooks/accounts/decide-event.ts',
    from: 'for (const { endpoint } of same.slice(at)) failed.set(endpoint, cause);',
    to: '',
    tests: decisions,
  },
  {
    name: 'the log is kept for what is undecided',
    file: 'src/webhooks/log/trim-log.ts',
    from: 'sql` AND position <= ${undecided}`',
    to: 'sql``',
    tests: decisions,
  },
  {
    name: 'an endpoint that skips what waits skips what is undecided',
    file: 'src/webhooks/skip-waiting.ts',
    from: '  await skipUndecided(tx, endpoint);',
    to: '',
    tests: decisions,
  },
  {
    name: 'an endpoint that is given to superusers is told of what was undecided',
    file: 'src/webhooks/accounts/decision-cursor.ts',
    from: 'if (after !== undefined) await tellUndecided(tx, after, now);',
    to: '',
    tests: decisions,
  },
  {
    name: 'a field that a change has not changed counts as unchanged',
    file: 'src/webhooks/accounts/decide-event.ts',
    from: '!isDated) return value;',
    to: '!isDated) return null;',
    tests: decisions,
  },
  {
    name: 'an account has few endpoints',
    file: 'src/webhooks/endpoints/refuse-too-many.ts',
    from: 'if (count > ofAccountMax &&',
    to: 'if (count > ofAccountMax * 100 &&',
    tests: decisions,
  },
  {
    name: 'accounts have a limited number of endpoints together',
    file: 'src/webhooks/endpoints/refuse-too-many.ts',
    from: 'if (has.owned > accountEndpointsMax &&',
    to: 'if (has.owned > accountEndpointsMax * 100 &&',
    tests: decisions,
  },
];
