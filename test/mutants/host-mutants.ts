import type { Mutant } from './mutant.ts';

/** Hosts in threads: what keeps one thread from harming the others, and a request from being answered wrongly. */
export const hostMutants: readonly Mutant[] = [
  {
    name: 'a request that was refused is not run',
    file: 'src/hosts/answer-front.ts',
    from: 'if (!this.#claims.take(token)) return;',
    to: 'this.#claims.take(token);',
    tests: ['test/hosts/host-faults.test.ts'],
  },
  {
    name: 'a write that a host has taken has an unknown outcome',
    file: 'src/hosts/host-thread.ts',
    from: "reject(isTaken && route.method !== 'GET' ? unknownOutcome() : busy());",
    to: 'reject(isTaken && route === undefined ? unknownOutcome() : busy());',
    tests: ['test/hosts/host-faults.test.ts'],
  },
  {
    name: 'a host that does not turn is given up',
    file: 'src/hosts/pulse.ts',
    from: 'return this.#stillLooks >= this.#stillMin;',
    to: 'return this.#stillLooks >= this.#stillMin + 1_000_000;',
    tests: ['test/hosts/host-faults.test.ts'],
  },
  {
    name: 'a thread that ended is started again',
    file: 'src/hosts/host-thread.ts',
    from: 'if (!this.#isStopping) this.#worker = this.#start();',
    to: '',
    tests: ['test/hosts/host-faults.test.ts'],
  },
  {
    name: 'a writer waits for its reader',
    file: 'src/hosts/port-streams.ts',
    from: 'if (this.#untaken < windowBytes) done();',
    to: 'if (this.#untaken < Number.POSITIVE_INFINITY) done();',
    tests: ['src/hosts/port-streams.test.ts'],
  },
  {
    name: 'memory of an answer is released in its host',
    file: 'src/hosts/answer-front.ts',
    from: '      request.release();\n',
    to: '',
    tests: ['test/hosts/host-threads.test.ts'],
  },
  {
    name: 'a move hands over what is on its way',
    file: 'src/hosts/open-host.ts',
    from: 'await loan.instance.database.write((tx) => postpone(tx));',
    to: 'await postpone;',
    tests: ['test/hosts/moves.test.ts'],
  },
  {
    name: 'realtime clients of an instance that moves connect again',
    file: 'src/hosts/open-host.ts',
    from: 'await realtime.endInstance(id);',
    to: '',
    tests: ['test/hosts/moves.test.ts'],
  },
  {
    name: 'one long turn moves no instance',
    file: 'src/hosts/quarantine.ts',
    from: 'if (turns.length < turnsMin) return;',
    to: '',
    tests: ['src/hosts/quarantine.test.ts'],
  },
  {
    name: 'what is due is woken without a request',
    file: 'src/hosts/open-pool.ts',
    from: 'if (due <= this.#clock.now()) this.#pool.wake(id);',
    to: 'if (due <= this.#clock.now()) void id;',
    tests: ['test/hosts/host-threads.test.ts'],
  },
];
