/** Returns the headers that every answer carries, also where Fastify is not involved. */
export function standardHeaders(requestId: string): Record<string, string> {
  return {
    vary: 'Origin',
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'SAMEORIGIN',
    'x-xss-protection': '1; mode=block',
  };
}
