import type { Mutant } from './mutant.ts';

const counter = 'src/limits/shared-counter.ts';
const store = 'src/limits/postgres-window-store.ts';
const tests = ['src/limits/shared-counter.test.ts'];

/** Guards of how much clients may ask at once, and how often where several nodes count together. */
export const limitMutants: readonly Mutant[] = [
  {
    name: 'a client that does not wait for answers is served one request at a time',
    file: 'src/http/take-turns.ts',
    from: 'if (ahead === undefined) return begin();',
    to: 'if (ahead === undefined || socket.writable) return begin();',
    tests: ['test/api/pipelined-requests.test.ts'],
  },
  {
    name: 'no more of its requests are read than one read brings',
    file: 'src/http/take-turns.ts',
    from: "if (count === 0) socket.on('resume', pauseAgain);",
    to: "if (count < 0) socket.on('resume', pauseAgain);",
    tests: ['test/api/pipelined-requests.test.ts'],
  },
  {
    name: 'an account is guessed at no oftener because it has two names',
    file: 'src/http/admission.ts',
    from: 'account === undefined ? [given] : [given, `${collection.id}/${account}`]',
    to: '[given]',
    tests: ['test/api/sign-in-protection.test.ts'],
  },
  {
    name: 'the count of a spelling does not tell that another is the name of an account',
    file: 'src/http/admission.ts',
    from: 'account === undefined ? [given] : [given, `${collection.id}/${account}`]',
    to: '[account === undefined ? given : `${collection.id}/${account}`]',
    tests: ['test/api/sign-in-protection.test.ts'],
  },
  {
    name: 'a client asks for a bounded number of mails',
    file: 'src/limits/mail-request-guard.ts',
    from: '{ counter: this.#clients, key, limit: limit(clientMax) },',
    to: '',
    tests: ['test/api/mail-requests.test.ts'],
  },
  {
    name: 'a client asks for a bounded number of mails to one address',
    file: 'src/limits/mail-request-guard.ts',
    from: '{ counter: this.#pairs, key: `${key}|${to}`, limit: limit(addressFromClientMax) },',
    to: '',
    tests: ['test/api/mail-requests.test.ts'],
  },
  {
    name: 'mails to an address are counted by where they go and not by what else a body holds',
    file: 'src/http/routes/account-routes.ts',
    from: 'const to = ownMember(bodyOf(request), member);',
    to: "const to = ownMember(bodyOf(request), 'newEmail') ?? ownMember(bodyOf(request), member);",
    tests: ['test/api/mail-requests.test.ts'],
  },
  {
    name: 'bodies that are being read hold no more than their budget',
    file: 'src/http/memory-budget.ts',
    from: 'if (this.#bytes <= this.#bytesMax) return;',
    to: 'if (this.#bytes > 0) return;',
    tests: ['src/http/read-body.test.ts'],
  },
  {
    name: 'answers that nobody reads are counted',
    file: 'src/http/send-answer.ts',
    from: 'holdUnread(reply.raw);',
    to: 'void holdUnread;',
    tests: ['test/api/pipelined-requests.test.ts'],
  },
  {
    name: 'the bytes of a body are put together while they come',
    file: 'src/http/read-body.ts',
    from: 'if (looseCount === looseMax) {',
    to: 'if (looseCount === 0) {',
    tests: ['src/http/read-body.test.ts'],
  },
  {
    name: 'what comes to all nodes is counted together',
    file: 'src/limits/counting-of.ts',
    from: "if (instance.database.engine === 'sqlite') return { nowMs };",
    to: 'if (nowMs > 0) return { nowMs };',
    tests: ['test/nodes/limits.test.ts'],
  },
  {
    name: 'all nodes are given no more of a window than there is',
    file: store,
    from: 'greatest(0, least(EXCLUDED.max - held.taken, EXCLUDED.given))',
    to: 'EXCLUDED.given',
    tests,
  },
  {
    name: 'many nodes put less by of a window',
    file: store,
    from: 'least(reserve, max / (4 * living))',
    to: 'reserve',
    tests,
  },
  {
    name: 'what is counted together does not say of whom it is',
    file: store,
    from: 'this.#instance.sealer.fingerprint(asked.question.key)',
    to: 'asked.question.key',
    tests,
  },
  {
    name: 'a database that is slow keeps nobody waiting',
    file: store,
    from: '}, this.#waitMsMax);',
    to: '}, 60_000);',
    tests,
  },
  {
    name: 'a database that is slow opens no gate',
    file: counter,
    from: 'const isAllowed = held.used < max;',
    to: 'const isAllowed = max > 0;',
    tests,
  },
  {
    name: 'what was let in without an answer is counted later',
    file: counter,
    from: 'asked.count = Math.max(0, held.used - held.given) + asked.waiting;',
    to: 'asked.count = asked.waiting;',
    tests,
  },
  {
    name: 'a window that is full is asked for once',
    file: counter,
    from: 'held.isFull = this.#options.isFinal === true && share.given < asked.count;',
    to: 'held.isFull = false;',
    tests,
  },
  {
    name: 'a try that one count refuses is taken out of the others',
    file: 'src/limits/count-try.ts',
    from: '      giveBack();\n',
    to: '',
    tests,
  },
  {
    name: 'windows that are over are cleared away',
    file: 'src/limits/sweep-windows.ts',
    from: 'WHERE ends <= ${endsMax}', // oxlint-disable-line no-template-curly-in-string
    to: 'WHERE ends < 0',
    tests,
  },
  {
    name: 'a short filter makes no statement of thousands of list rules',
    file: 'src/filters/filter-limits.ts',
    from: 'listRulesSizeMax: 1_000,',
    to: 'listRulesSizeMax: 1_000_000,',
    tests: ['test/api/absent-records.test.ts'],
  },
  {
    name: 'digits in a text for a number are read once',
    file: 'src/fields/number-field.ts',
    from: '\\d+(?:\\.\\d*)?|',
    to: '\\d+\\.?\\d*|',
    tests: ['src/fields/linear-fields.test.ts'],
  },
];
