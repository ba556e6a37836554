import type { Mutant } from './mutant.ts';

const tests = ['test/api/catchers.test.ts'];

/** Of the URLs of the service that keep what they are sent. */
export const catcherMutants: readonly Mutant[] = [
  {
    name: 'only a catcher of the instance itself is no network target',
    file: 'src/deliveries/endpoints/change-endpoint.ts',
    from: 'catcherOfUrl(sealer, url) !== undefined',
    to: "url.includes('/api/webhooks/catchers/')",
    tests,
  },
  {
    name: 'a catcher hides secrets in headers',
    file: 'src/endpoints/catchers.ts',
    from: "isSecretHeader(name) && !name.includes('signature') ? maskedValue : value",
    to: 'value',
    tests,
  },
  {
    name: 'a catcher keeps no more than its newest requests',
    file: 'src/endpoints/catchers.ts',
    from: 'OFFSET ${catcherLimits.requestsMax}',
    to: 'OFFSET 1000',
    tests,
  },
  {
    name: 'a catcher cuts bodies off',
    file: 'src/endpoints/catchers.ts',
    from: 'body.subarray(0, catcherLimits.bodyBytesMax)',
    to: 'body',
    tests,
  },
  {
    name: 'a catcher that has expired is not found',
    file: 'src/endpoints/catchers.ts',
    from: 'catcher === undefined || catcher.expires <= dueClock.now()',
    to: 'catcher === undefined',
    tests,
  },
  {
    name: 'a catcher that has expired takes no webhooks',
    file: 'src/dispatch/catcher-attempts.ts',
    from: 'const isExpired = catcher.expires <= instance.dueClock.now();',
    to: 'const isExpired = false;',
    tests,
  },
];
