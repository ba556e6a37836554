import type { Mutant } from './mutant.ts';

/** Guards of the command line. */
export const commandMutants: readonly Mutant[] = [
  {
    name: 'a plan of an import shows no definition that a key does not reach',
    file: 'src/http/routes/collections.ts',
    from: 'for (const { before } of changed) requireReach(context.caller, before);',
    to: '',
    tests: ['test/api/api-key-scopes.test.ts'],
  },
  {
    name: 'files of definitions with secrets are refused',
    file: 'src/cli/schema/schema-files.ts',
    from: "isJsonObject(options) && options['secret'] !== undefined",
    to: 'false',
    tests: ['test/api/cli-schema.test.ts'],
  },
  {
    name: 'a dump writes no file outside of its folder',
    file: 'src/cli/schema/schema-files.ts',
    from: "if (typeof name === 'string' && /^\\w+$/.test(name))",
    to: "if (typeof name === 'string')",
    tests: ['test/api/cli-schema.test.ts'],
  },
  {
    name: 'what an application of definitions deletes has to be confirmed',
    file: 'src/cli/commands/schema-command.ts',
    from: "if (loss !== '') await",
    to: "if (loss === '') await",
    tests: ['test/api/cli-schema.test.ts'],
  },
  {
    name: 'a backlog is skipped only when that is confirmed',
    file: 'src/cli/commands/endpoint-command.ts',
    from: "if (backlog === 'skip') {",
    to: 'if (backlog === undefined) {',
    tests: ['test/api/cli-endpoints.test.ts'],
  },
  {
    name: 'a log leaves out that it is looked at',
    file: 'src/cli/commands/logs-command.ts',
    from: "isSet(command, 'all') ? [] : [notOfCommands]",
    to: '[]',
    tests: ['test/api/cli-logs.test.ts'],
  },
  {
    name: 'a filter that is given is joined to other conditions as a whole',
    file: 'src/cli/api/list-options.ts',
    from: '[`(${filter})`]',
    to: '[filter]',
    tests: ['test/api/cli-deliveries.test.ts'],
  },
  {
    name: 'a text that a spreadsheet would run is written with an apostrophe',
    file: 'src/cli/records/record-values.ts',
    from: 'return isRaw ? value : cellOfText(value);',
    to: 'return value;',
    tests: ['src/cli/records/csv.test.ts', 'test/api/cli-records.test.ts'],
  },
  {
    name: 'a text with apostrophes before a formula keeps all of them',
    file: 'src/cli/records/csv.ts',
    from: "/^'*[=+\\-@\\t\\r]/.test(text)",
    to: "/^'?[=+\\-@\\t\\r]/.test(text)",
    tests: ['src/cli/records/csv.test.ts'],
  },
  {
    name: 'a terminal does not obey what a command writes',
    file: 'src/cli/terminal/print.ts',
    from: 'return write(io, printableLines(text));',
    to: 'return write(io, text);',
    tests: ['test/api/cli-unseen.test.ts'],
  },
  {
    name: 'a terminal does not obey the error of a command',
    file: 'src/cli/terminal/print.ts',
    from: '  stderr.write(printableLines(text));',
    to: '  stderr.write(text);',
    tests: ['test/api/cli-unseen.test.ts'],
  },
  {
    name: 'marks that turn the direction of text are escaped',
    file: 'src/base/printable.ts',
    from: '[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]',
    to: '[\\p{Cc}]',
    tests: ['src/base/printable.test.ts', 'test/api/cli-unseen.test.ts'],
  },
];
