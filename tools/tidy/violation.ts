/** One breach of one rule; printed as `file:line rule message`. */
export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}
