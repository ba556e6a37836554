/** Returns the headers that every answer carries, also where Fastify is not involved. */
export function standardHeaders(requestId: string): Record<string, string> {
  return {
    // Also on answers to guests: a cache must not give such an answer to a caller with a token.
    vary: 'Origin, Authorization',
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'SAMEORIGIN',
    'x-xss-protection': '1; mode=block',
  };
}
