import type { SettingsQuery } from '../../../generated/console.ts'
import { MODES } from '../../ui/moderation-modes.ts'

type Settings = NonNullable<SettingsQuery['settings']>
type IsGroup<Value> = NonNullable<Value> extends readonly unknown[] | string | number | boolean ? false : true

/** Every setting of the form: `maxLinks`, `stream.replayHours`. */
type SettingPath =
  | Exclude<AnyPath, 'staff.oidc' | 'identity.claims'>
  | `identity.claims.${keyof Settings['identity']['claims']}`

type AnyPath = {
  [Name in keyof Settings]: IsGroup<Settings[Name]> extends true
    ? `${Name}.${keyof NonNullable<Settings[Name]> & string}`
    : Name
}[keyof Settings]

/** The sections of the form, in their order, by their ids. */
export const SECTION_TITLES = {
  website: 'Your website',
  moderation: 'Moderation',
  comments: 'Comments',
  privacy: 'Privacy',
  staff: 'Members',
  limits: 'Keys and limits',
  streams: 'Streams and tickets',
  webhooks: 'Webhooks',
  identity: 'Identity',
  guests: 'Guests',
  classifier: 'Classifier',
}

export type SectionId = keyof typeof SECTION_TITLES

/** The section and label of each setting: its name in the API is for programs. */
const PLACES = {
  moderationMode: ['moderation', 'Moderation mode'],
  bannedWords: ['moderation', 'Banned words'],
  suspectWords: ['moderation', 'Suspect words'],
  maxLinks: ['moderation', 'Links that a comment may have'],
  holdFirstComments: ['moderation', 'First comments that are held'],
  holdRepeatedText: ['moderation', 'Same text by any reader until it is held'],
  holdAfterRejections: ['moderation', 'Rejections in a row until a reader is held'],
  reportThreshold: ['moderation', 'Reports until a moderator is asked'],
  editWindowSeconds: ['comments', 'Time to edit a comment'],
  showEditHistory: ['comments', 'Readers see earlier texts'],
  maxDepth: ['comments', 'Depth of replies'],
  slowModeSeconds: ['comments', 'Time between two comments of a reader'],
  autoCloseDays: ['comments', 'Lock old discussions'],
  reactionTypes: ['comments', 'Reactions'],
  badges: ['comments', 'Badges of readers'],
  erasureMode: ['privacy', 'Comments of an erased reader'],
  allowedOrigins: ['website', 'Allowed origins'],
  'graphql.documents': ['website', 'GraphQL documents that browsers may run'],
  'staff.signInHours': ['staff', 'Length of a sign-in'],
  'staff.requireTwoFactor': ['staff', 'Members need a second factor'],
  activeKeyBudget: ['limits', 'Active API keys'],
  'rateLimit.perSecond': ['limits', 'Requests a second with one key'],
  'rateLimit.burst': ['limits', 'Requests at once with one key'],
  'stream.replayHours': ['streams', 'Time in which events can be replayed'],
  'stream.replayEvents': ['streams', 'Events that can be replayed'],
  'stream.maxStreams': ['streams', 'Streams open at once'],
  'stream.maxStreamsPerReader': ['streams', 'Streams of one reader open at once'],
  'stream.maxStreamsPerTicket': ['streams', 'Streams of one ticket open at once'],
  'stream.maxStreamsPerAddress': ['streams', 'Streams of readers at one address open at once'],
  'stream.maxDurationSeconds': ['streams', 'Longest stream'],
  'ticket.connectSeconds': ['streams', 'Time to open a stream with a ticket'],
  'ticket.reconnectSeconds': ['streams', 'Time to resume a stream with a ticket'],
  'clientToken.perSecond': ['limits', 'Requests a second with one client token'],
  'clientToken.burst': ['limits', 'Requests at once with one client token'],
  'clientToken.maxLivePerReader': ['limits', 'Live client tokens of one reader'],
  'clientToken.maxLive': ['limits', 'Live client tokens of all browsers'],
  webhookEndpoints: ['webhooks', 'Webhook endpoints'],
  'webhookPolicy.maxAttempts': ['webhooks', 'Attempts at a delivery'],
  'webhookPolicy.backoffBaseMs': ['webhooks', 'Wait after the first failure'],
  'webhookPolicy.timeoutMs': ['webhooks', 'Longest attempt'],
  'webhookPolicy.breakerThreshold': ['webhooks', 'Failures until a pause'],
  'webhookPolicy.breakerCooldownMs': ['webhooks', 'Length of a pause'],
  'webhookPolicy.disableThreshold': ['webhooks', 'Failures until it is disabled'],
  'webhookPolicy.schedule': ['webhooks', 'Waits between attempts'],
  'webhookPolicy.ordered': ['webhooks', 'One delivery at a time in each discussion'],
  deliveryRetentionDays: ['webhooks', 'Time that finished deliveries are kept'],
  auditRetentionDays: ['privacy', 'Time that the audit log is kept'],
  analyticsRetentionDays: ['privacy', 'Time that activity of readers is kept'],
  'identity.issuer': ['identity', 'Issuer'],
  'identity.jwksUrl': ['identity', 'Address of the public keys'],
  'identity.audience': ['identity', "Audience of the issuer's tokens on sites"],
  'identity.maxAgeSeconds': ['identity', 'Greatest age of such a token'],
  'identity.claims.name': ['identity', 'Claim with the name'],
  'identity.claims.avatarUrl': ['identity', 'Claim with the picture'],
  'identity.claims.profileUrl': ['identity', 'Claim with the page of the reader'],
  'sites.cacheSeconds': ['limits', 'Time that caches keep pages of sites'],
  'guests.mailUrl': ['guests', 'Address that sends the mails'],
  'guests.hold': ['guests', 'First comments that wait'],
  'classifier.url': ['classifier', 'Address of the classifier'],
  'classifier.fallback': ['classifier', 'If it does not answer'],
} as const satisfies Record<SettingPath, readonly [section: SectionId, label: string]>

export const LABELS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(PLACES).map(([path, [, label]]) => [path, label]),
)

/** Single sign-on has a form of its own. */
export const SIGN_ON_LABELS = {
  'staff.oidc.issuer': 'Issuer',
  'staff.oidc.clientId': 'Client ID',
  'staff.oidc.clientSecret': 'Client secret',
  'staff.oidc.emailDomains': 'Domains of e-mail addresses',
  'staff.oidc.roleClaim': 'Claim with the roles',
  'staff.oidc.roles': 'Roles',
  'staff.oidc.defaultRole': 'Role of everybody else',
  'staff.oidc.only': 'Passwords are only for owners',
}

export const sectionOf = (path: string): SectionId => {
  const place = Object.entries(PLACES).find(([each]) => each === path)
  if (place === undefined) throw new Error(`${path} stands in no section`)
  return place[1][0]
}

/** Texts for a setting, or a group, whose description in the API uses the API's own terms. */
const TEXTS: Readonly<Partial<Record<SettingPath | keyof Settings, string>>> = {
  bannedWords: 'Words and phrases with which a comment is refused.',
  suspectWords: 'Words and phrases that hold a comment for a moderator.',
  autoCloseDays: 'Time after which a discussion is locked; 1 to 3 650 days.',
  'webhookPolicy.disableThreshold':
    'Failures in a row that disable the endpoint; 1 to 1 000, and no fewer than open the circuit.',
  'identity.issuer': 'The "iss" of assertions that are signed with one of the public keys.',
  classifier: 'A service of yours that judges new comments.',
}

/** Words for values, instead of the API's description, by path and value. */
const CHOICES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(MODES).map(([mode, words]) => [`moderationMode.${mode}`, words])),
  'webhookPolicy.schedule.short': 'Short: doubled after each failure, up to the number of attempts',
  'webhookPolicy.schedule.days': 'Days: ten attempts in some three days',
}

/** A value of a choice in words. */
export const choiceOf = (path: string, { value, description }: { value: string; description: string }): string =>
  CHOICES[`${path}.${value}`] ?? description.replace(/\.$/, '')

/** The API's description of a setting, by path, in words for people. */
export const textOf = (path: string, ofApi: string): string =>
  Object.entries(TEXTS).find(([each]) => each === path)?.[1] ?? ofApi
