/**
 * Guards, each taken out by a small edit. Whoever takes one out must be told by a test: `npm run mutants` edits a copy of the tree,
 * one mutant at a time, and runs the tests named for it, of which at least one has to fail.
 */
export interface Mutant {
  /** What the guard promises. */
  readonly name: string;
  readonly file: string;
  /** Stands once in the file. */
  readonly from: string;
  readonly to: string;
  /** Files of tests, at least one of whose tests goes red. */
  readonly tests: readonly string[];
  /** Where the guard matters on one engine only. */
  readonly engine?: 'sqlite' | 'postgres';
}
