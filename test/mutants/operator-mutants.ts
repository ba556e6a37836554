import type { Mutant } from './mutant.ts';

const tests = ['test/api/operator.test.ts'];
const creationTests = ['test/api/operator-create.test.ts'];

/** Guards of the operator's routes, keys and sign-in links. */
export const operatorMutants: readonly Mutant[] = [
  {
    name: 'the operator has no route below the path of an instance',
    file: 'src/http/server/serve-operator.ts',
    from: 'if (operator === undefined || hasInstancePrefix(request.raw)) throw notFound();',
    to: 'if (operator === undefined) throw notFound();',
    tests,
  },
  {
    name: 'without an operator key no route of the operator is there',
    file: 'src/operator/operator-keys.ts',
    from: 'if (!(await hasOperatorKey(operator))) throw notFound();',
    to: '',
    tests,
  },
  {
    name: 'an operator key needs the scope of the route',
    file: 'src/http/server/serve-operator.ts',
    from: 'requireOperatorScope(caller, route.scope);',
    to: '',
    tests,
  },
  {
    name: 'an operator key is no guest of an instance',
    file: 'src/auth/authenticate.ts',
    from: " || text.startsWith('co_')",
    to: '',
    tests,
  },
  {
    name: 'answers with secrets are stored sealed',
    file: 'src/operator/create-instance.ts',
    from: 'operator.sealer.seal(json, answerPlace(idempotent))',
    to: 'json',
    tests: creationTests,
  },
  {
    name: 'a sign-in link is used once',
    file: 'src/auth/sign-in-link.ts',
    from: 'return deleted > 0;',
    to: 'return true;',
    tests: creationTests,
  },
];
