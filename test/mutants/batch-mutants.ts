import type { Mutant } from './mutant.ts';

const api = ['test/api/webhook-batches.test.ts'];
const dispatch = ['src/dispatch/batches.test.ts'];

/** Guards of batches of webhooks. */
export const batchMutants: readonly Mutant[] = [
  {
    name: 'a batch that is sent again keeps its id',
    file: 'src/dispatch/batches.ts',
    from: 'sentBefore !== undefined && fitting === count',
    to: 'false',
    tests: api,
  },
  {
    name: 'a batch that has lost a member is another one',
    file: 'src/dispatch/claim-turn.ts',
    from: 'rows.length === size &&',
    to: '',
    tests: api,
  },
  {
    name: 'a batch waits for others',
    file: 'src/dispatch/lane-source.ts',
    from: 'this.#queue.noteWaited(until <= now);',
    to: 'this.#queue.noteWaited(true);',
    tests: api,
  },
  {
    name: 'the body of a batch is limited',
    file: 'src/sending/batch-request.ts',
    from: 'return at > 0 && bytes > bytesMax;',
    to: 'return false;',
    tests: api,
  },
  {
    name: 'bodies are read only as far as a batch may have them',
    file: 'src/dispatch/batch-members.ts',
    from: 'return at > 0 && bytes > bytesMax;',
    to: 'return false;',
    tests: dispatch,
  },
  {
    name: 'an account is sent again in a batch only what it may still view',
    file: 'src/dispatch/batches.ts',
    from: 'await this.#checkAccess(claim);',
    to: '',
    tests: api,
  },
  {
    name: 'a batch is stored by the owner of the instance alone',
    file: 'src/dispatch/batches.ts',
    from: 'WHERE ${fence} AND EXISTS (${delivery})',
    to: 'WHERE EXISTS (${delivery})',
    tests: dispatch,
  },
  {
    name: 'a delivery that has changed is not put into a batch',
    file: 'src/dispatch/batches.ts',
    from: '< pendings.length) throw new Changed();',
    to: '< 0) throw new Changed();',
    tests: dispatch,
  },
  {
    name: 'with a strict order, a batch has nothing that comes behind a delivery that is due again',
    file: 'src/dispatch/due-queue.ts',
    from: 'event > this.#strictEnd',
    to: 'event < 0',
    tests: api,
  },
];
