import type { Mutant } from './mutant.ts';

const tests = ['test/api/webhook-endpoint-import.test.ts'];
const file = 'src/deliveries/endpoints/import-endpoints.ts';

/** What names of endpoints promise, and an import of their definitions. */
export const endpointImportMutants: readonly Mutant[] = [
  {
    name: 'no two endpoints have the same name',
    file: 'src/endpoints/endpoint-options.ts',
    from: 'return otherNames.has(value) ?',
    to: 'return otherNames.has(`${value} `) ?',
    tests,
  },
  {
    name: 'an endpoint may be sent back with its own name',
    file: 'src/deliveries/endpoints/change-endpoint.ts',
    from: '.filter(({ id }) => id !== existing.id);',
    to: '.filter(({ id }) => id !== existing.name);',
    tests,
  },
  {
    name: 'an account does not name its endpoints',
    file: 'src/endpoints/endpoint-reach.ts',
    from: "if (body['name'] !== undefined && body['name'] !== '')",
    to: "if (body['name'] === caller.id)",
    tests: ['test/api/webhook-owners.test.ts'],
  },
  {
    name: 'a test sends the owner of an endpoint nothing that it may not view',
    file: 'src/records/read-test-event.ts',
    from: "if (endpoint.owner === '') return true;",
    to: 'if (endpoint.owner !== collection.id) return true;',
    tests: ['test/api/webhook-owners.test.ts'],
  },
  {
    name: 'a dry run of an import changes nothing',
    file,
    from: 'if (dryRun) {',
    to: 'if (dryRun && definitions.length === 0) {',
    tests,
  },
  {
    name: 'an import deletes no endpoint without a name',
    file,
    from: "name !== '' && !names.has(name)",
    to: '!names.has(name)',
    tests,
  },
  {
    name: 'an import deletes only where it is asked to',
    file,
    from: 'deleteMissing ? all.filter(isMissing) : []',
    to: 'all.filter(isMissing)',
    tests,
  },
  {
    name: 'an import gives no endpoint that there is another secret',
    file,
    from: 'refuseFixed(secret === undefined ? {} : { secret }, before, failed)',
    to: 'refuseFixed({}, before, failed)',
    tests,
  },
  {
    name: 'an option that a definition leaves out goes to its default',
    file: 'src/endpoints/endpoint.ts',
    from: 'const base = context.isWhole === true ? undefined : context.existing;',
    to: 'const base = context.existing;',
    tests,
  },
  {
    name: 'an endpoint that is as its definition says is not touched',
    file,
    from: 'if (changed.length === 0) unchanged.push(before);',
    to: 'if (changed.length < 0) unchanged.push(before);',
    tests,
  },
  {
    name: 'one wrong definition refuses an import',
    file,
    from: 'if (Object.keys(all).length > 0) problems[index] = all;',
    to: 'if (Object.keys(all).length > 1) problems[index] = all;',
    tests,
  },
  {
    name: 'names are unique within an import',
    file,
    from: 'else if (first === undefined) {',
    to: 'else if (first !== -1) {',
    tests,
  },
];
