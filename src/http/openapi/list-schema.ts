import type { Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';

const perPage: Schema = { type: 'integer', minimum: 1 };

/** A page of a list. */
export function listSchema(item: Schema): Schema {
  return objectSchema({
    items: { type: 'array', items: item },
    page: { type: 'integer', minimum: 1 },
    perPage,
    totalItems: { type: 'integer', minimum: -1 },
    totalPages: { type: 'integer', minimum: -1 },
  });
}

/** A page of a list that has cursors, by its number or by a cursor. */
export function cursorListSchema(item: Schema): Schema {
  const byCursor = objectSchema({
    items: { type: 'array', items: item },
    perPage,
    nextCursor: { type: ['string', 'null'], description: 'Null at the end.' },
  });
  return { oneOf: [listSchema(item), byCursor] };
}
