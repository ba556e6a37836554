import type { Mutant } from './mutant.ts';

const tests = ['test/api/operator.test.ts'];
const schemaTests = ['test/api/operator-schema.test.ts'];
const leaseTests = ['test/api/operator-schema-leases.test.ts'];
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
  {
    name: 'a dry run of a schema job changes nothing',
    file: 'src/operator/apply-schema.ts',
    from: 'if (job.dryRun) {',
    to: 'if (false as boolean) {',
    tests: schemaTests,
  },
  {
    name: 'a schema job leaves a suspended instance as it is',
    file: 'src/operator/apply-schema.ts',
    from: "return managed.state === 'active' ?",
    to: "return managed.state !== 'deleted' ?",
    tests: schemaTests,
  },
  {
    name: 'a schema job imports nothing into an instance that has the definitions',
    file: 'src/operator/apply-schema.ts',
    from: 'if (changes.length === 0) {',
    to: 'if (changes.length < 0) {',
    tests: schemaTests,
  },
  {
    name: 'a schema job brings no token secret of one instance to others',
    file: 'src/operator/schema-request.ts',
    from: 'problems.addAll(kind, sharedSecret());',
    to: 'void kind;',
    tests: schemaTests,
  },
  {
    name: 'a schema job that is cancelled begins no further instance',
    file: 'src/operator/schema-jobs.ts',
    from: "await skipWaiting(tx, id, { reason: 'The job was cancelled.', now });",
    to: '',
    tests: schemaTests,
  },
  {
    name: 'a schema job begins no further instance after so many failures',
    file: 'src/operator/schema-work.ts',
    from: 'return job.stopAfter > 0 &&',
    to: 'return job.stopAfter < 0 &&',
    tests: schemaTests,
  },
  {
    name: 'a process that holds a schema job no more changes no instance',
    file: 'src/operator/apply-schema.ts',
    from: 'if (!(await onChange(json))) return undefined;',
    to: 'await onChange(json);',
    tests: leaseTests,
  },
  {
    name: 'a process that holds a schema job no more notes nothing of an instance',
    file: 'src/operator/schema-work.ts',
    from: "AND EXISTS (SELECT 1 FROM ${names.table('$schema_job')} WHERE ${isHeld(job)})",
    to: 'AND ${names.instance.condition} = ${names.instance.condition}',
    tests: leaseTests,
  },
  {
    name: 'a process that holds a schema job no more begins none of its instances',
    file: 'src/operator/schema-work.ts',
    from: 'return row?.[0] === 0 &&',
    to: 'return row?.[0] !== 1 &&',
    tests: leaseTests,
  },
];
