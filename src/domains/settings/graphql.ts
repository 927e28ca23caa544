import { type TenantSettings, tenantSettingsSchema } from '../../core/tenant-settings.ts'
import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import { RateLimit, Stream, Ticket, WebhookDefaults } from './groups.ts'
import { findPublicSettings, findSettings, type PublicSettings, updateSettings } from './settings.ts'

const ModerationMode = builder.enumType('ModerationMode', {
  description: 'When moderators see comments.',
  values: {
    none: { description: 'Only what the rules hold waits for a moderator.' },
    pre: { description: 'Every comment waits for a moderator.' },
    post: { description: 'Comments appear at once; moderators look afterwards at those that a rule would have held.' },
  },
})

const ErasureMode = builder.enumType('ErasureMode', {
  description: "What becomes of an erased reader's comments.",
  values: {
    anonymise: { description: 'Each stays as a tombstone, without its text and its author.' },
    delete: { description: 'They go; a tombstone stays where one has replies.' },
  },
})

const ClassifierFallback = builder.enumType('ClassifierFallback', {
  description: 'What becomes of a comment while the classifier does not answer.',
  values: { approve: { description: 'It is approved.' }, hold: { description: 'It waits for a moderator.' } },
})

const ISSUER = 'The `iss` of assertions that are signed with a key of jwksUrl.'
const JWKS_URL = 'The https address of the public keys that may sign assertions (RFC 7517); needs an issuer.'
const CLASSIFIER_URL = 'The https address that is asked.'

const Identity = builder.objectRef<TenantSettings['identity']>('IdentitySettings').implement({
  description: 'Reader assertions that are signed with public keys.',
  fields: (t) => ({
    issuer: t.exposeString('issuer', { nullable: true, description: ISSUER }),
    jwksUrl: t.exposeString('jwksUrl', { nullable: true, description: JWKS_URL }),
  }),
})

const IdentityInput = builder.inputType('IdentitySettingsInput', {
  description: 'Reader assertions that are signed with public keys. What is left out stays as it is.',
  fields: (t) => ({ issuer: t.string({ description: ISSUER }), jwksUrl: t.string({ description: JWKS_URL }) }),
})

const Classifier = builder.objectRef<NonNullable<TenantSettings['classifier']>>('ClassifierSettings').implement({
  description: 'A service of the tenant that judges new comments.',
  fields: (t) => ({
    url: t.exposeString('url', { nullable: true, description: CLASSIFIER_URL }),
    fallback: t.field({
      type: ClassifierFallback,
      description: 'What becomes of a comment while it does not answer.',
      resolve: ({ fallback }) => fallback,
    }),
  }),
})

const ClassifierInput = builder.inputType('ClassifierSettingsInput', {
  description: 'A service of the tenant that judges new comments. What is left out stays as it is.',
  fields: (t) => ({
    url: t.string({ description: CLASSIFIER_URL }),
    fallback: t.field({ type: ClassifierFallback, description: 'What becomes of a comment while it does not answer.' }),
  }),
})

const TEXT = {
  moderationMode: 'When moderators see comments.',
  bannedWords: 'Words and phrases with which a comment is refused; at most 1 000.',
  suspectWords: 'Words and phrases that hold a comment for a moderator; at most 1 000.',
  maxLinks: 'Links that a comment may have before it is held; 0 to 100.',
  holdFirstComments: "How many of a reader's first comments are held; 0 to 100.",
  reportThreshold: 'Reports that bring a comment before a moderator; 1 to 1 000.',
  editWindowSeconds: 'Seconds in which an author can edit; 0 to 31 536 000.',
  maxDepth: 'How deep replies can be nested; 0 to 100.',
  autoCloseDays: 'Days after which a discussion is locked; 1 to 3 650, null: never.',
  reactionTypes: 'The reactions that readers can give; 1 to 32.',
  erasureMode: "What becomes of an erased reader's comments.",
  allowedOrigins: 'Origins of web pages that may open streams and use GraphQL; at most 100.',
  activeKeyBudget: 'How many active API keys there can be; 1 to 1 000.',
  rateLimit: 'How much each API key may ask.',
  stream: 'Live streams.',
  ticket: 'Stream tickets.',
  webhookEndpoints: 'How many webhook endpoints there can be, disabled ones included; 1 to 1 000.',
  webhookPolicy: 'How deliveries are attempted where the endpoint does not set it by itself.',
  deliveryRetentionDays: 'Days that finished deliveries are kept; 1 to 365.',
  identity: 'Reader assertions that are signed with public keys.',
  classifier: 'A service of the tenant that judges new comments; null: none.',
} as const satisfies Record<keyof TenantSettings, string>

const SettingsRef = builder.objectRef<TenantSettings>('Settings').implement({
  description: 'The settings of the tenant that are in force.',
  fields: (t) => ({
    moderationMode: t.field({
      type: ModerationMode,
      description: TEXT.moderationMode,
      resolve: (s) => s.moderationMode,
    }),
    bannedWords: t.exposeStringList('bannedWords', { description: TEXT.bannedWords }),
    suspectWords: t.exposeStringList('suspectWords', { description: TEXT.suspectWords }),
    maxLinks: t.exposeInt('maxLinks', { description: TEXT.maxLinks }),
    holdFirstComments: t.exposeInt('holdFirstComments', { description: TEXT.holdFirstComments }),
    reportThreshold: t.exposeInt('reportThreshold', { description: TEXT.reportThreshold }),
    editWindowSeconds: t.exposeInt('editWindowSeconds', { description: TEXT.editWindowSeconds }),
    maxDepth: t.exposeInt('maxDepth', { description: TEXT.maxDepth }),
    autoCloseDays: t.exposeInt('autoCloseDays', { nullable: true, description: TEXT.autoCloseDays }),
    reactionTypes: t.exposeStringList('reactionTypes', { description: TEXT.reactionTypes }),
    erasureMode: t.field({ type: ErasureMode, description: TEXT.erasureMode, resolve: (s) => s.erasureMode }),
    allowedOrigins: t.exposeStringList('allowedOrigins', { description: TEXT.allowedOrigins }),
    activeKeyBudget: t.exposeInt('activeKeyBudget', { description: TEXT.activeKeyBudget }),
    rateLimit: t.field({ type: RateLimit.output, description: TEXT.rateLimit, resolve: (s) => s.rateLimit }),
    stream: t.field({ type: Stream.output, description: TEXT.stream, resolve: (s) => s.stream }),
    ticket: t.field({ type: Ticket.output, description: TEXT.ticket, resolve: (s) => s.ticket }),
    webhookEndpoints: t.exposeInt('webhookEndpoints', { description: TEXT.webhookEndpoints }),
    webhookPolicy: t.field({
      type: WebhookDefaults.output,
      description: TEXT.webhookPolicy,
      resolve: (s) => s.webhookPolicy,
    }),
    deliveryRetentionDays: t.exposeInt('deliveryRetentionDays', { description: TEXT.deliveryRetentionDays }),
    identity: t.field({ type: Identity, description: TEXT.identity, resolve: (s) => s.identity }),
    classifier: t.field({
      type: Classifier,
      nullable: true,
      description: TEXT.classifier,
      resolve: (s) => s.classifier,
    }),
  }),
})

builder.queryField('settings', (t) =>
  t.field({
    type: SettingsRef,
    nullable: true,
    access: 'manage_settings',
    description: 'The settings of the tenant.',
    resolve: (_root, _args, ctx) => findSettings(ctx),
  }),
)

const PublicSettingsRef = builder.objectRef<PublicSettings>('PublicSettings').implement({
  description: 'The settings that a page for readers is made by; none of them is a secret.',
  fields: (t) => ({
    reactionTypes: t.exposeStringList('reactionTypes', { description: TEXT.reactionTypes }),
    editWindowSeconds: t.exposeInt('editWindowSeconds', { description: TEXT.editWindowSeconds }),
    maxDepth: t.exposeInt('maxDepth', { description: TEXT.maxDepth }),
  }),
})

builder.queryField('publicSettings', (t) =>
  t.field({
    type: PublicSettingsRef,
    nullable: true,
    access: 'key',
    description: 'What a page for readers must know of the settings. A change is seen within 5 s.',
    resolve: (_root, _args, ctx) => findPublicSettings(ctx),
  }),
)

builder.relayMutationField(
  'updateSettings',
  {
    description: 'The settings to change. What is left out stays as it is; null is a value, where there is such a one.',
    extensions: shapedBy(tenantSettingsSchema),
    inputFields: (t) => ({
      moderationMode: t.field({ type: ModerationMode, description: TEXT.moderationMode }),
      bannedWords: t.stringList({ description: TEXT.bannedWords }),
      suspectWords: t.stringList({ description: TEXT.suspectWords }),
      maxLinks: t.int({ description: TEXT.maxLinks }),
      holdFirstComments: t.int({ description: TEXT.holdFirstComments }),
      reportThreshold: t.int({ description: TEXT.reportThreshold }),
      editWindowSeconds: t.int({ description: TEXT.editWindowSeconds }),
      maxDepth: t.int({ description: TEXT.maxDepth }),
      autoCloseDays: t.int({ description: TEXT.autoCloseDays }),
      reactionTypes: t.stringList({ description: TEXT.reactionTypes }),
      erasureMode: t.field({ type: ErasureMode, description: TEXT.erasureMode }),
      allowedOrigins: t.stringList({ description: TEXT.allowedOrigins }),
      activeKeyBudget: t.int({ description: TEXT.activeKeyBudget }),
      rateLimit: t.field({ type: RateLimit.input, description: TEXT.rateLimit }),
      stream: t.field({ type: Stream.input, description: TEXT.stream }),
      ticket: t.field({ type: Ticket.input, description: TEXT.ticket }),
      webhookEndpoints: t.int({ description: TEXT.webhookEndpoints }),
      webhookPolicy: t.field({ type: WebhookDefaults.input, description: TEXT.webhookPolicy }),
      deliveryRetentionDays: t.int({ description: TEXT.deliveryRetentionDays }),
      identity: t.field({ type: IdentityInput, description: TEXT.identity }),
      classifier: t.field({ type: ClassifierInput, description: TEXT.classifier }),
    }),
  },
  {
    access: 'manage_settings',
    description: 'Changes settings of the tenant.',
    resolve: async (_root, { input }, ctx) => ({ settings: await updateSettings(ctx, input) }),
  },
  {
    description: 'The settings as they are now.',
    outputFields: (t) => ({
      settings: t.field({
        type: SettingsRef,
        description: 'All settings in force.',
        resolve: ({ settings }) => settings,
      }),
    }),
  },
)
