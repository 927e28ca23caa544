export const CAPABILITIES = [
  'moderate_content',
  'manage_settings',
  'manage_api_keys',
  'manage_webhooks',
  'view_analytics',
] as const

export type Capability = (typeof CAPABILITIES)[number]

const KNOWN: ReadonlySet<string> = new Set(CAPABILITIES)

/**
 * Whether this release knows a stored capability. A capability that only a newer release knows
 * grants nothing here.
 */
export const isCapability = (name: string): name is Capability => KNOWN.has(name)

/** The roles of members, and what each may do (docs/guides/members.md). */
export const ROLES = {
  owner: CAPABILITIES,
  admin: CAPABILITIES,
  editor: ['moderate_content', 'manage_settings', 'view_analytics'],
  moderator: ['moderate_content'],
  developer: ['manage_api_keys', 'manage_webhooks', 'view_analytics'],
  analyst: ['view_analytics'],
} as const satisfies Readonly<Record<string, readonly Capability[]>>

export type Role = keyof typeof ROLES
