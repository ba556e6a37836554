/** What the envelope of a list holds besides its items. */
export interface ListPage {
  readonly page: number;
  readonly perPage: number;
  /** -1 where it was not counted, like `totalPages`. */
  readonly totalItems: number;
  readonly totalPages: number;
  /** The next cursor, null at the end; absent where the list is read by pages. */
  readonly nextCursor?: string | null;
}
