/** What an API key may be made for. `admin` includes all the others, and whatever none of them covers. */
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
