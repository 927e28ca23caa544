import { builder } from '../../schema/builder.ts'
import { BOUNDED } from '../moderation/graphql.ts'
import { getOverview, type Overview } from './overview.ts'

const FOR_MODERATORS = 'Null without moderate_content.'
const FOR_WEBHOOKS = 'Null without manage_webhooks.'

const OverviewRef = builder.objectRef<Overview>('Overview').implement({
  description: 'What waits for somebody, now. Its cost does not grow with what is stored.',
  fields: (t) => ({
    pending: t.int({
      nullable: true,
      description: `Comments in the moderation queue \`pending\`. ${BOUNDED} ${FOR_MODERATORS}`,
      resolve: async ({ queues }) => (await queues())?.pending ?? null,
    }),
    reported: t.int({
      nullable: true,
      description: `Comments in the moderation queue \`reported\`. ${BOUNDED} ${FOR_MODERATORS}`,
      resolve: async ({ queues }) => (await queues())?.reported ?? null,
    }),
    circuitsOpen: t.int({
      nullable: true,
      description: `Webhook endpoints whose circuit is open or half open. ${FOR_WEBHOOKS}`,
      resolve: async ({ webhooks }) => (await webhooks())?.circuitsOpen ?? null,
    }),
    endpointsDisabled: t.int({
      nullable: true,
      description: `Webhook endpoints that only an admin can put on again. ${FOR_WEBHOOKS}`,
      resolve: async ({ webhooks }) => (await webhooks())?.endpointsDisabled ?? null,
    }),
    endpointsUnverified: t.int({
      nullable: true,
      description: `Webhook endpoints that get no deliveries, as their handshake is not done. ${FOR_WEBHOOKS}`,
      resolve: async ({ webhooks }) => (await webhooks())?.endpointsUnverified ?? null,
    }),
    deliveriesHeld: t.int({
      nullable: true,
      description: `Deliveries that wait for their disabled endpoint. ${BOUNDED} ${FOR_WEBHOOKS}`,
      resolve: async ({ webhooks }) => (await webhooks())?.deliveriesHeld ?? null,
    }),
    openStreams: t.int({
      description: 'Streams and subscriptions of discussions that are open, over all processes; at most 5 s old.',
      resolve: ({ openStreams }) => openStreams(),
    }),
  }),
})

builder.queryField('overview', (t) =>
  t.field({
    type: OverviewRef,
    nullable: true,
    access: 'key',
    description: "What waits for somebody. Each number needs its source's capability, and is null without it.",
    resolve: (_root, _args, ctx) => getOverview(ctx),
  }),
)
