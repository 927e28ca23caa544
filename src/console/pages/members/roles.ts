import type { Role } from '../../../generated/console.ts'

/** Each role, and what it allows, in the order of a choice. */
export const ROLES: Readonly<Record<Role, string>> = {
  owner: 'Everything, also who is an owner',
  admin: 'Everything else',
  editor: 'Moderate, change settings, read the analytics',
  moderator: 'Moderate',
  developer: 'Manage API keys and webhooks, read the analytics',
  analyst: 'Read the analytics',
}

/** The choice of a role; only an owner can choose the first. */
export const roleChoices = (isOwner: boolean) =>
  (Object.keys(ROLES) as Role[])
    .filter((role) => isOwner || role !== 'owner')
    .map((role) => ({ value: role, label: `${role}: ${ROLES[role].toLowerCase()}` }))
