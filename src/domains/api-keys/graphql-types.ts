import { builder } from '../../graphql/builder.ts'

export const CapabilityRef = builder.enumType('Capability', {
  description: 'What an API key or a member may do beyond reading, posting and reacting.',
  values: {
    manage_api_keys: { description: 'To create and revoke keys, with at most the capabilities of the caller.' },
    manage_settings: { description: 'To change settings, create identity secrets, export and erase readers.' },
    manage_webhooks: { description: 'To register webhooks and read their deliveries.' },
    moderate_content: { description: 'To approve, reject and delete comments, lock discussions, and ban readers.' },
    view_analytics: { description: 'To read the analytics.' },
  },
})
