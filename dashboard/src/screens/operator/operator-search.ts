import { searchDecoder } from '../../parts/search-decoder.ts';

/** What the addresses of the operator's screens hold. */
export const decodeOperatorSearch = searchDecoder({
  /** A part of a slug or host, or an expression. */
  find: 'text',
  state: 'text',
  sort: 'text',
  /** The drawer that is open. */
  open: 'text',
  span: 'text',
  /** What the instances are compared by. */
  by: 'text',
  filter: 'text',
  entry: 'text',
  /** A session was over, which nobody wanted. */
  expired: 'text',
  /** The path to go on to after the sign-in. */
  next: 'text',
});

export type OperatorSearch = ReturnType<typeof decodeOperatorSearch>;
