import type { Values } from './exchange.ts';

/** What the collections of a history have of relations. */
interface Relations {
  readonly author?: string;
  readonly post?: string;
  readonly by?: readonly string[];
  readonly 'by+'?: string;
}

/** Keys of the records that one of these values refers to, or that a body adds. */
export function referredBy(values: Values): readonly string[] {
  // As the fields of the collections are.
  const { author, post, by = [], 'by+': added } = values as Relations;
  return [
    ...(author ? [`authors/${author}`] : []),
    ...(post ? [`posts/${post}`] : []),
    ...by.map((id) => `authors/${id}`),
    ...(added ? [`authors/${added}`] : []),
  ];
}
