import type { ListPage } from './list-page.ts';

/** Returns the envelope of a list with the JSON texts of its items. */
export function listJson(page: ListPage, items: readonly string[]): string {
  return `{"items":[${items.join(',')}${listEnd(page)}`;
}

function listEnd({ page, perPage, totalItems, totalPages, nextCursor }: ListPage): string {
  if (nextCursor !== undefined) return `],"perPage":${perPage},"nextCursor":${JSON.stringify(nextCursor)}}`;
  return `],"page":${page},"perPage":${perPage},"totalItems":${totalItems},"totalPages":${totalPages}}`;
}
