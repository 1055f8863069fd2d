/** What a key of the server API may do. */
export const SCOPES = [
  'users:read',
  'users:write',
  'subscriptions:read',
  'subscriptions:write',
  'files:read',
  'usage:read',
  'usage:write',
  'webhooks:write',
] as const
export type Scope = (typeof SCOPES)[number]
