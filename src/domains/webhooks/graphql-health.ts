import { builder } from '../../graphql/builder.ts'
import { type EndpointHour, listEndpointHours, SAMPLE } from './hours.ts'

const HourRef = builder.objectRef<EndpointHour>('WebhookEndpointHour').implement({
  description: 'How the attempts went of the deliveries that were queued for an endpoint in one hour.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When the hour begins.' }),
    deliveries: t.exposeInt('deliveries', {
      description: `The deliveries that these figures are of: at most ${SAMPLE}, the newest of the hour.`,
    }),
    isSample: t.exposeBoolean('isSample', { description: 'Whether the hour has more deliveries than these.' }),
    attempts: t.exposeInt('attempts', { description: 'Their attempts, whenever these were made.' }),
    succeeded: t.exposeInt('succeeded', { description: 'The attempts that the receiver accepted.' }),
    medianMs: t.exposeInt('medianMs', {
      nullable: true,
      description: 'Half of the attempts took no longer than this, in milliseconds. Null without an attempt.',
    }),
    p95Ms: t.exposeInt('p95Ms', {
      nullable: true,
      description: '95 % of the attempts took no longer than this, in milliseconds. Null without an attempt.',
    }),
  }),
})

const HealthRef = builder.objectRef<{ hours: EndpointHour[] }>('WebhookEndpointHealth').implement({
  description: 'How the deliveries to an endpoint went.',
  fields: (t) => ({
    hours: t.expose('hours', {
      type: [HourRef],
      description: 'The last 24 hours, oldest first; the last is not over.',
    }),
  }),
})

builder.queryField('webhookEndpointHealth', (t) =>
  t.field({
    type: HealthRef,
    access: 'manage_webhooks',
    description: "Returns the rate of success and the latency of an endpoint's deliveries by hour.",
    args: { id: t.arg.id({ required: true, description: 'The id of the endpoint.' }) },
    resolve: async (_root, args, ctx) => ({ hours: await listEndpointHours(ctx, args) }),
  }),
)
