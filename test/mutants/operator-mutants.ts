import type { Mutant } from './mutant.ts';

const tests = ['test/api/operator.test.ts'];
const creationTests = ['test/api/operator-create.test.ts'];
const importTests = ['test/api/operator-imports.test.ts'];

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
  {
    name: 'an archive is read into an instance by keys of the scope admin only',
    file: 'src/http/routes/operator/transfers.ts',
    from: "    id: 'importInstance',\n    scope: 'admin',",
    to: "    id: 'importInstance',\n    scope: 'instances:write',",
    tests: importTests,
  },
  {
    name: 'a process receives four archives at once',
    file: 'src/jobs/job-runner.ts',
    from: 'if (this.#imports >= importsMax) throw busy();',
    to: '',
    tests: importTests,
  },
  {
    name: 'an archive is received only where it is to become an instance',
    file: 'src/operator/instance-transfers.ts',
    from: 'if (directory.findBySlug(slug) !== undefined)',
    to: "if (slug === '')",
    tests: importTests,
  },
  {
    name: 'an archive larger than the maximum is refused before it is read',
    file: 'src/http/server/receive-body.ts',
    from: 'if (announced > bytesMax) throw tooLarge();',
    to: '',
    tests: importTests,
  },
  {
    name: 'an archive without an announced length ends at the maximum',
    file: 'src/http/server/receive-body.ts',
    from: 'if (size > bytesMax) throw tooLarge();',
    to: '',
    tests: ['src/http/server/receive-body.test.ts'],
  },
  {
    name: 'an archive that the disk has no room for is refused before it is read',
    file: 'src/http/server/receive-body.ts',
    from: '  await requireRoom(folder, announced);\n',
    to: '',
    tests: ['src/http/server/receive-body.test.ts'],
  },
  {
    name: 'an archive that is downloaded is written by the node that is asked for it',
    file: 'src/operator/instance-transfers.ts',
    from: 'await transfersOf(operator).run(job, signal);',
    to: 'await runJob(operator, job, () => signal.aborted);',
    tests: ['test/nodes/operator.test.ts'],
  },
];
