import type { Mutant } from './mutant.ts';

/** The index of the work that is due in instances that are not open. */
export const dueMutants: readonly Mutant[] = [
  {
    name: 'an open instance is noted on disk',
    file: 'src/instances/open-instances.ts',
    from: 'const noted = this.#options.index?.opened(entry.id);',
    to: 'const noted = undefined;',
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'nobody gets an instance before that is on disk',
    file: 'src/instances/open-instances.ts',
    from: '      await noted;\n',
    to: '',
    tests: ['src/instances/open-instances.test.ts'],
  },
  {
    name: 'a closed instance has the times at which something is due in it',
    file: 'src/instances/due-index.ts',
    from: 'await setDue(tx, id, times);',
    to: 'await setDue(tx, id, { webhooks: undefined, upkeep: undefined });',
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'what a command commits while the server closes its instance is not overwritten',
    file: 'src/instances/due-index.ts',
    from: 'else if (this.#adoptions.get(id) === adoptions) await',
    to: 'else await',
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'an instance that a command has open is not taken over',
    file: 'src/instances/due-index.ts',
    from: "filter(([, name = '']) => !isRunning(name))",
    to: "filter(([, name = '']) => name !== undefined)",
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'a closed breaker is waited for',
    file: 'src/deliveries/read-webhooks-due.ts',
    from: 'Math.max(next, Number(opensAt))',
    to: 'next',
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'an instance with undecided events is opened by a start',
    file: 'src/deliveries/read-webhooks-due.ts',
    from: 'if (running !== undefined || (await hasUndecided(reader)) ||',
    to: 'if (running !== undefined ||',
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'the instance that was visited last is closed',
    file: 'src/instances/instance-visits.ts',
    from: 'if (this.#last !== undefined) this.#options.instances.closeIdle(this.#last);',
    to: '',
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'a server takes over what commands have left',
    file: 'src/instances/due-work.ts',
    from: '      this.#wake(id);\n',
    to: '',
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'webhooks that nobody has reported are found when an instance is closed',
    file: 'src/start-due-work.ts',
    from: 'dispatcher.noteDue(id, dueIfUnknown(times.webhooks, parts.clock.now()));',
    to: '',
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'a node opens only instances in which something is unsettled',
    file: 'src/dispatch/nodes/work-poll.ts',
    from: 'AND NOT EXISTS (',
    to: 'AND EXISTS (',
    tests: ['test/api/due-work.test.ts'],
    engine: 'postgres',
  },
];
