import type { Mutant } from './mutant.ts';

/** How filters are read, and what becomes of those that are stored. */
export const filterMutants: readonly Mutant[] = [
  {
    name: 'a backslash escapes itself in a text, so that none escapes its quote',
    file: 'src/filters/scan.ts',
    from: "  ['\\\\', '\\\\'],\n",
    to: '',
    tests: ['src/filters/parse.test.ts', 'test/api/sdk-filters.test.ts'],
  },
  {
    name: 'a printed text is read as the same text',
    file: 'src/filters/scan.ts',
    from: String.raw`text.replaceAll(/[\\'\n\t\r]/g,`,
    to: String.raw`text.replaceAll(/['\n\t\r]/g,`,
    tests: ['src/filters/parse.test.ts'],
  },
  {
    name: 'stored filters mean what they meant',
    file: 'src/storage/migrations/stored-filters.ts',
    from: 'const rewritten = rewriteTexts(before);',
    to: 'const rewritten: string | undefined = rewriteTexts(before) && before;',
    tests: ['test/engines/stored-filters.test.ts'],
  },
  {
    name: 'a stored filter that had no end denies',
    file: 'src/storage/migrations/stored-filters.ts',
    from: 'rewritten ?? `(unreadable) ${before}`',
    to: 'rewritten ?? before',
    tests: ['test/engines/stored-filters.test.ts'],
  },
  {
    name: 'versions that would misread a rewritten filter are not admitted',
    file: 'src/storage/migrations/stored-filters.ts',
    from: '.length === 0 ? 1 : undefined',
    to: '.length >= 0 ? 1 : undefined',
    tests: ['test/engines/stored-filters.test.ts'],
  },
  {
    name: 'a text beside a date that is no time is refused',
    file: 'src/filters/compile.ts',
    from: 'if (isRequest || context.isStored === true) return term;',
    to: 'if (isRequest || context.isStored !== undefined) return term;',
    tests: ['test/api/date-filters.test.ts'],
  },
  {
    name: 'what was stored before goes on to compare a date with a text that is no time',
    file: 'src/query/record-scope.ts',
    from: "this.#add(rule, 'everything', { slots: this.#context.slots?.ofRules, isStored: true });",
    to: "this.add(rule, 'rule');",
    tests: ['test/api/date-filters.test.ts'],
  },
  {
    name: 'a kept plan is for texts that are times alone',
    file: 'src/filters/compile.ts',
    from: 'if (holds(term, isReadable))',
    to: 'if (isReadable(term instanceof Slot ? term.value : term))',
    tests: ['test/api/date-filters.test.ts'],
  },
  {
    name: 'a filter that ends at an ampersand is refused',
    file: 'src/http/request.ts',
    from: "if (url.includes('filter=')) checkAmpersands(url);",
    to: '',
    tests: ['test/api/query-ampersands.test.ts'],
  },
  {
    name: 'each comparison with a relation of many may be about another of its ids',
    file: 'src/query/path.ts',
    from: 'const isApart = isEach && leaf.steps.length > 0;',
    to: 'const isApart = false;',
    tests: ['test/api/relation-filters.test.ts'],
  },
  {
    name: 'a text beyond ASCII is not left to the LIKE of SQLite',
    file: 'src/filters/sqlite-dialect.ts',
    from: '...ascii.map((one) => sql`octet_length(${one}) > length(${one})`),',
    to: '',
    tests: ['src/filters/compile.test.ts'],
  },
  {
    name: 'a text beyond ASCII is matched with all forms of its letters on PostgreSQL',
    file: 'src/filters/forms-expression.ts',
    from: 'formsOf(fold(character))',
    to: '[character]',
    tests: ['src/filters/postgres-dialect.test.ts'],
  },
];
