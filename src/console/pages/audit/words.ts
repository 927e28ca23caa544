import AUDIT_ACTIONS from '../../../generated/audit-actions.json' with { type: 'json' }
import { type Labels, namesOf } from '../../api/errors.ts'
import { choiceOf, LABELS, SIGN_ON_LABELS } from '../settings/labels.ts'
import { FIELDS } from '../settings/table.ts'

/** Kinds of things, by the `targetType` of entries and by the group of actions. */
const KINDS: Readonly<Record<string, string>> = {
  api_key: 'API key',
  backend: 'Backend of pages',
  classifier_secret: 'Secret of the classifier',
  mail_secret: 'Secret for mails',
  comment: 'Comment',
  discussion: 'Discussion',
  document: 'GraphQL document',
  export: 'Export',
  identity_secret: 'Secret for identities',
  import: 'Import',
  import_upload: 'File to import',
  member: 'Member',
  note: 'Note',
  reader: 'Reader',
  settings: 'Settings',
  site: 'Site',
  notice_channel: 'Notice channel',
  tenant: 'Tenant',
  webhook: 'Webhook endpoint',
  webhook_endpoint: 'Webhook endpoint',
}

const ACTIONS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(AUDIT_ACTIONS).flatMap(([kind, verbs]) =>
    Object.entries(verbs).map(([verb, words]) => [`${kind}.${verb}`, words]),
  ),
)

/** A newer release, or a file of it, may have further ones. */
const fromCode = (code: string): string => {
  const words = code.replaceAll(/[._]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** `api_key` as "API key". */
export const kindWords = (kind: string): string => KINDS[kind] ?? fromCode(kind)

/** `comment.approve` as "Approved a comment". */
export const actionWords = (action: string): string => ACTIONS[action] ?? fromCode(action)

const SETTINGS: Labels = {
  ...LABELS,
  ...Object.fromEntries(Object.entries(SIGN_ON_LABELS).map(([path, label]) => [path, `Single sign-on: ${label}`])),
}

/** A changed field, by its path: a setting by its label, another field by the words of its name. */
export const fieldWords = (targetType: string, path: string): string =>
  namesOf(path.split('.'), targetType === 'settings' ? SETTINGS : {}).join(' ')

/** The words of the settings for the values that are chosen from a list, by `path.value`. */
const CHOICES: ReadonlyMap<string, string> = new Map(
  FIELDS.flatMap(({ path, values }) =>
    (values ?? []).map((each) => [`${path}.${each.value}`, choiceOf(path, each)] as const),
  ),
)

/** The path of the setting that a field of another thing stands over. */
function settingOf(targetType: string, path: string): string | null {
  if (targetType === 'settings') return path
  if (targetType === 'discussion' && path === 'moderationMode') return path
  return targetType === 'webhook_endpoint' ? path.replace(/^policy\./, 'webhookPolicy.') : null
}

/** A value that is chosen from a list, as the settings call it. */
export const valueWords = (targetType: string, path: string, value: string): string | undefined =>
  CHOICES.get(`${settingOf(targetType, path)}.${value}`)
