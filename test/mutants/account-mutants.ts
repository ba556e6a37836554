import type { Mutant } from './mutant.ts';

const past = ['test/api/past-visibility.test.ts'];

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
];
