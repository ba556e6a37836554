import type { Mutant } from './mutant.ts';

/** What is promised of the forms in which the service is shipped. */
export const shippingMutants: readonly Mutant[] = [
  {
    name: 'a Node that is too old is refused by the package',
    file: 'tools/build/chancery.cjs',
    from: 'process.exit(69);',
    to: 'void 0;',
    tests: ['test/shipping/package.test.ts'],
  },
  {
    name: 'a package that is loaded on demand loads its parts of Node on demand',
    file: 'tools/build/bundle.ts',
    from: "kind === 'import-statement' && isBuiltin(path)",
    to: "kind === 'dynamic-import' && isBuiltin(path)",
    tests: ['test/shipping/package.test.ts'],
  },
  {
    name: 'a bill of materials has no present time',
    file: 'tools/build/list-components.ts',
    from: 'delete bill.metadata.timestamp;',
    to: 'void bill.metadata.timestamp;',
    tests: ['test/shipping/package.test.ts'],
  },
  {
    name: 'the executable writes nothing beside itself',
    file: 'src/main.ts',
    from: 'if (!isSea())',
    to: 'if (isSea.length === 0)',
    tests: ['test/shipping/executable.test.ts'],
  },
];
