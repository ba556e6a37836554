import type { Mutant } from './mutant.ts';

/** Guards of what an instance may use. */
export const quotaMutants: readonly Mutant[] = [
  {
    name: 'webhooks beyond the quota of a day wait',
    file: 'src/hosts/open-host.ts',
    from: ' && !daily.isUsedUp(id)',
    to: '',
    tests: ['test/api/daily-deliveries.test.ts'],
  },
  {
    name: 'what other processes deliver counts towards the quota of a day',
    file: 'src/instances/daily-deliveries.ts',
    from: 'else await this.#count(id);',
    to: '',
    tests: ['test/api/daily-deliveries.test.ts'],
  },
  {
    name: 'who asks why a webhook waits is told of the quota of the day',
    file: 'src/deliveries/why/explain-event.ts',
    from: "return isQuotaUsedUp ? 'quota' : 'sent';",
    to: "return 'sent';",
    tests: ['test/api/webhook-why.test.ts'],
  },
];
