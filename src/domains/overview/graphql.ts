import { builder } from '../../graphql/builder.ts'
import { BOUNDED } from '../moderation/graphql-queue.ts'
import { getOverview, type Overview } from './overview.ts'

const FOR_MODERATORS = 'Null without moderate_content.'
const FOR_WEBHOOKS = 'Null without manage_webhooks.'

const OverviewRef = builder.objectRef<Overview>('Overview').implement({
  description: 'Work that waits for a person. The cost of the query does not grow with the stored data.',
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
      description: `Webhook endpoints that are disabled until an admin enables them. ${FOR_WEBHOOKS}`,
      resolve: async ({ webhooks }) => (await webhooks())?.endpointsDisabled ?? null,
    }),
    endpointsUnverified: t.int({
      nullable: true,
      description: `Webhook endpoints that get no deliveries because their handshake has not succeeded. ${FOR_WEBHOOKS}`,
      resolve: async ({ webhooks }) => (await webhooks())?.endpointsUnverified ?? null,
    }),
    deliveriesHeld: t.int({
      nullable: true,
      description: `Deliveries held because their endpoint is disabled. ${BOUNDED} ${FOR_WEBHOOKS}`,
      resolve: async ({ webhooks }) => (await webhooks())?.deliveriesHeld ?? null,
    }),
    openStreams: t.int({
      description: 'Open streams and subscriptions of discussions, over all processes. At most 5 s old.',
      resolve: ({ openStreams }) => openStreams(),
    }),
  }),
})

builder.queryField('overview', (t) =>
  t.field({
    type: OverviewRef,
    access: 'key',
    description:
      'Returns the work that waits for a person. Each number needs the capability of its source, and is null without it.',
    resolve: (_root, _args, ctx) => getOverview(ctx),
  }),
)
