/** What the address of a record table holds. A copied link shows the same records, in the same order, with the same one open. */
export interface RecordSearch {
  /** What was typed: a word to look for, or an expression. */
  readonly filter?: string;
  /** Names of fields with commas, `-` before those that descend. */
  readonly sort?: string;
  /** The id of the open record; `new` for one that is still to be made. */
  readonly record?: string;
  /** How the open record is shown; its fields if left out. */
  readonly view?: Exclude<RecordView, 'fields'>;
  /** The columns in their order; see column-search.ts. As this machine keeps them if left out. */
  readonly columns?: string;
  /** How far down the table is, in pages of 40 rows; the first if left out. */
  readonly page?: string;
}

export const recordViews = ['fields', 'json', 'story', 'relations'] as const;
export type RecordView = (typeof recordViews)[number];

export function decodeRecordSearch(search: Readonly<Record<string, unknown>>): RecordSearch {
  const { filter, sort, record, columns, page } = search;
  const view = recordViews.find((one) => one === search['view']);
  return {
    ...(isText(filter) && { filter }),
    ...(isText(sort) && { sort }),
    ...(isText(record) && { record }),
    ...(view !== undefined && view !== 'fields' && { view }),
    ...(isText(columns) && { columns }),
    ...(isText(page) && /^[1-9]\d{0,6}$/.test(page) && { page }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

export interface SortTerm {
  readonly field: string;
  readonly isDescending: boolean;
}

export function parseSort(sort: string): readonly SortTerm[] {
  return sort
    .split(',')
    .filter((term) => term !== '')
    .map((term) => ({ field: term.replace(/^[-+]/, ''), isDescending: term.startsWith('-') }));
}

/** The next state of a field whose header was clicked: up, down, none. `adds` keeps the terms of other fields. */
export function toggleSort(sort: string, field: string, adds: boolean): string {
  const terms = parseSort(sort);
  const current = terms.find((term) => term.field === field);
  const next =
    current === undefined
      ? { field, isDescending: false }
      : current.isDescending
        ? undefined
        : { field, isDescending: true };
  const kept = adds ? terms : terms.filter((term) => term.field === field);
  const changed = kept.flatMap((term) =>
    term.field === field ? (next === undefined ? [] : [next]) : [term],
  );
  if (current === undefined && next !== undefined) {
    return formatSort(adds ? [...terms, next] : [next]);
  }
  return formatSort(changed);
}

function formatSort(terms: readonly SortTerm[]): string {
  return terms.map(({ field, isDescending }) => (isDescending ? `-${field}` : field)).join(',');
}
