/** What an API key may be made for. `admin` is all of it, and whatever no other scope is for. */
export const keyScopes = [
  'records:read',
  'records:write',
  'webhooks:read',
  'webhooks:write',
  'collections:read',
  'collections:write',
  'admin',
] as const;

export type KeyScope = (typeof keyScopes)[number];
