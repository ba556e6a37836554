/** Returns the headers that every answer carries, also where Fastify is not involved. */
export function standardHeaders(requestId: string): Record<string, string> {
  return {
    // Also on answers to guests: a cache must not give such an answer to a caller with a token.
    vary: 'Origin, Authorization',
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'SAMEORIGIN',
    'x-xss-protection': '1; mode=block',
    // An answer is data: a browser that opens one as a page loads nothing, shows it in no frame and tells no address of it.
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-site',
    'referrer-policy': 'no-referrer',
  };
}
