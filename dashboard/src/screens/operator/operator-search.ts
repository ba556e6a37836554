const texts = [
  /** A part of a slug or host, or an expression. */
  'find',
  'state',
  'sort',
  /** The drawer that is open. */
  'open',
  'span',
  /** What the instances are compared by. */
  'by',
  'filter',
  'entry',
  /** A session was over, which nobody wanted. */
  'expired',
  /** The path to go on to after the sign-in. */
  'next',
] as const;

/** What the addresses of the operator's screens hold. */
export type OperatorSearch = { readonly [Name in (typeof texts)[number]]?: string };

export function decodeOperatorSearch(search: Readonly<Record<string, unknown>>): OperatorSearch {
  const given = texts.filter((name) => typeof search[name] === 'string' && search[name] !== '');
  return Object.fromEntries(given.map((name) => [name, search[name]]));
}
