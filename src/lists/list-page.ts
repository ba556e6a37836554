/** What the envelope of a list says beside its items. */
export interface ListPage {
  readonly page: number;
  readonly perPage: number;
  /** -1 when it was not asked for. */
  readonly totalItems: number;
  readonly totalPages: number;
  /** Of a list that is read by cursors: the next one, null at the end. */
  readonly nextCursor?: string | null;
}
