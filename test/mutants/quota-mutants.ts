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
  {
    name: 'on a disk that is low, what an instance above its share writes is refused',
    file: 'src/http/request-context.ts',
    from: "this.services.admission.requireDiskRoom(this.request, 'data');",
    to: '',
    tests: ['test/api/disk-shares.test.ts'],
    engine: 'sqlite',
  },
  {
    name: 'on a disk that is low, files of an instance above its share are refused',
    file: 'src/files/uploads.ts',
    from: 'if (files.store === files.disk) this.#options.requireRoom?.();',
    to: '',
    tests: ['test/api/disk-shares.test.ts'],
    engine: 'postgres',
  },
  {
    name: 'on a disk that is low, who uses less than a share is not refused',
    file: 'src/instances/disk-shares.ts',
    from: 'filter(([, one]) => one > share)',
    to: 'filter(([, one]) => one >= 0)',
    tests: ['test/api/disk-shares.test.ts'],
  },
  {
    name: 'deletes are never refused for the disk',
    file: 'src/http/admission.ts',
    from: "if (method !== 'DELETE') this.#options.disk",
    to: 'this.#options.disk',
    tests: ['test/api/disk-shares.test.ts'],
    engine: 'sqlite',
  },
  {
    name: 'a disk is low until a quarter more is free',
    file: 'src/limits/disk-space.ts',
    from: '(wasLow ? reserveBytes * recoveredShare : reserveBytes)',
    to: 'reserveBytes',
    tests: ['src/limits/disk-space.test.ts'],
  },
];
