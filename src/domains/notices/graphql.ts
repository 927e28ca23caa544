import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { NodeRef } from '../../graphql/node.ts'
import { NOTICE_CAUSES, NOTICE_KINDS, type NoticeCause, type NoticeKind } from './causes.ts'
import {
  createNoticeChannel,
  deleteNoticeChannel,
  getNoticeChannel,
  listNoticeChannels,
  MAX_CHANNELS,
  type NoticeChannel,
  noticeChange,
  noticeFields,
  testNoticeChannel,
  updateNoticeChannel,
} from './notices.ts'

const valuesOf = <Name extends string>(all: Readonly<Record<Name, string>>) =>
  Object.fromEntries(Object.entries<string>(all).map(([name, description]) => [name, { description }])) as Record<
    Name,
    { description: string }
  >

const NoticeKindEnum = builder.enumType('NoticeKind', {
  description: 'Whose form the messages of a notice channel have.',
  values: valuesOf(NOTICE_KINDS),
})

const NoticeCauseEnum = builder.enumType('NoticeCause', {
  description: 'What staff are told.',
  values: valuesOf(NOTICE_CAUSES),
})

const NoticeChannelRef = builder.prismaObject('NoticeChannel', {
  description: 'Where staff are told what waits for them. Its address is never shown.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the channel.' }),
    kind: t.field({
      type: NoticeKindEnum,
      description: 'Whose form its messages have.',
      resolve: ({ kind }) => kind as NoticeKind,
    }),
    host: t.exposeString('host', { description: 'The host of its address.' }),
    on: t.field({
      type: [NoticeCauseEnum],
      description: 'What it is told.',
      resolve: ({ causes }) => causes as NoticeCause[],
    }),
    lastSentAt: t.expose('lastSentAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it took its last message. Null before.',
    }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'Why it did not take its last message. Null if it did.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

const CHANNEL_ID = 'The id of the channel.'

const FIELDS = {
  url: 'The https address that its messages are posted to. It is stored sealed, and never shown.',
  on: 'What it is told.',
} as const

builder.queryField('noticeChannel', (t) =>
  t.prismaField({
    type: NoticeChannelRef,
    access: 'manage_settings',
    description: 'Returns a notice channel.',
    args: { id: t.arg.id({ required: true, description: CHANNEL_ID }) },
    resolve: (_query, _root, args, ctx) => getNoticeChannel(ctx, args),
  }),
)

builder.queryField('noticeChannels', (t) =>
  t.prismaPage({
    type: NoticeChannelRef,
    list: 'notice-channels',
    access: 'manage_settings',
    description: "Returns the tenant's notice channels, newest first.",
    resolve: (query, ctx) => listNoticeChannels(ctx, query),
  }),
)

/** The changed channel in the payload of a mutation. */
const CHANNEL = {
  type: NoticeChannelRef,
  description: 'The channel.',
  resolve: ({ noticeChannel }: { noticeChannel: NoticeChannel }) => noticeChannel,
}

addMutation('createNoticeChannel', {
  takes: 'The channel to create.',
  shape: noticeFields,
  input: (t) => ({
    kind: t.field({ type: NoticeKindEnum, required: true, description: 'Whose form its messages have.' }),
    url: t.string({ required: true, description: FIELDS.url }),
    on: t.field({ type: [NoticeCauseEnum], required: true, description: FIELDS.on }),
  }),
  access: 'manage_settings',
  description: `Creates a notice channel, of which there can be ${MAX_CHANNELS}. It is told what happens from then on.`,
  resolve: async (input, ctx) => ({ noticeChannel: await createNoticeChannel(ctx, input) }),
  answers: 'The new channel.',
  output: (t) => ({ noticeChannel: t.field(CHANNEL) }),
})

addMutation('updateNoticeChannel', {
  takes: 'The fields of a channel to change.',
  shape: noticeChange,
  input: (t) => ({
    id: t.id({ required: true, description: CHANNEL_ID }),
    url: t.string({ description: FIELDS.url }),
    on: t.field({ type: [NoticeCauseEnum], description: FIELDS.on }),
  }),
  access: 'manage_settings',
  description: 'Changes the given fields. After another address, what it was not told yet is sent at once.',
  resolve: async (input, ctx) => ({ noticeChannel: await updateNoticeChannel(ctx, input) }),
  answers: 'The changed channel.',
  output: (t) => ({ noticeChannel: t.field(CHANNEL) }),
})

addMutation('testNoticeChannel', {
  takes: 'A channel to test.',
  input: (t) => ({ id: t.id({ required: true, description: CHANNEL_ID }) }),
  access: 'manage_settings',
  description:
    'Has a worker send a test message. `lastSentAt` and `lastError` of the channel tell what became of it. Refused within ten seconds of another one.',
  resolve: async (input, ctx) => ({ noticeChannel: await testNoticeChannel(ctx, input) }),
  answers: 'The channel, before its message is sent.',
  output: (t) => ({ noticeChannel: t.field(CHANNEL) }),
})

addMutation('deleteNoticeChannel', {
  takes: 'A channel to delete.',
  input: (t) => ({ id: t.id({ required: true, description: CHANNEL_ID }) }),
  access: 'manage_settings',
  description: 'Deletes a notice channel, with its address.',
  resolve: async (input, ctx) => ({ noticeChannel: await deleteNoticeChannel(ctx, input) }),
  answers: 'The deleted channel.',
  output: (t) => ({
    noticeChannel: t.field({ ...CHANNEL, description: 'The channel as it was.' }),
    deletedNoticeChannelId: t.id({
      description: 'The id of the channel.',
      resolve: ({ noticeChannel }) => noticeChannel.id,
    }),
  }),
})
