import { addEnum } from '../../graphql/enum.ts'

export const CapabilityRef = addEnum(
  'Capability',
  'What an API key or a member may do beyond reading, posting and reacting.',
  {
    manage_api_keys: 'To create and revoke keys, with at most the capabilities of the caller.',
    manage_settings: 'To change settings, create identity secrets, export and erase readers.',
    manage_webhooks: 'To register webhooks and read their deliveries.',
    moderate_content: 'To approve, reject and delete comments, lock discussions, and ban readers.',
    view_analytics: 'To read the analytics.',
  },
)
