import type { Settings } from '../../core/settings/settings.ts'
import type { Schema } from './json-schema.ts'

const SIGNATURE = '^t=\\d+,v1=[0-9a-f]{64},kid=[0-9a-f]{8}$'

const STANDARD_SIGNATURE = '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$'

/** How a receiver verifies a delivery. */
export const VERIFYING = `Answer any 2xx within the timeout to acknowledge it.

To verify: the signed string is the value of the timestamp header, a dot, and the raw bytes of the body; \`v1\` is its HMAC-SHA256 in hex, the key the UTF-8 bytes of the whole secret, \`whs_\` included. Compare in constant time, and refuse what is older than you accept. Libraries of Standard Webhooks verify the headers \`webhook-…\` with \`standardSecret\`. Deliveries can come twice and out of order: keep the idempotency key, and order by \`seq\`.`

/** The headers of every delivery of `event`. */
export const deliveryHeaders = ({ HEADER_PREFIX: prefix }: Settings, event: string): Schema => ({
  type: 'object',
  properties: {
    [`${prefix}Event`]: { type: 'string', enum: [event], description: 'The type of the event.' },
    [`${prefix}Delivery-Id`]: {
      type: 'string',
      description: 'The id of the delivery, the same at each attempt.',
    },
    [`${prefix}Idempotency-Key`]: {
      type: 'string',
      description: '`<event type>:<event id>`: the same for every endpoint, retry, redelivery and replay of an event.',
    },
    [`${prefix}Timestamp`]: { type: 'string', format: 'date-time', description: 'When this attempt was signed.' },
    [`${prefix}Signature`]: {
      type: 'string',
      pattern: SIGNATURE,
      description: '`t=<unix seconds>,v1=<HMAC-SHA256 in hex>,kid=<the secret>`.',
    },
    [`${prefix}Signature-Previous`]: {
      type: 'string',
      pattern: SIGNATURE,
      description: 'The signature with the previous secret, for 24 h after a rotation.',
    },
    'webhook-id': { type: 'string', description: 'The idempotency key, as Standard Webhooks names it.' },
    'webhook-timestamp': {
      type: 'string',
      pattern: '^\\d+$',
      description: 'When this attempt was signed, in Unix seconds.',
    },
    'webhook-signature': {
      type: 'string',
      pattern: STANDARD_SIGNATURE,
      description: 'Signatures of Standard Webhooks, one for each valid secret: `v1,<base64>`, separated by a space.',
    },
    [`${prefix}Test`]: { type: 'string', enum: ['true'], description: 'Marks a test event, whose `seq` is 0.' },
    'Content-Type': { type: 'string', enum: ['application/json'] },
  },
  required: [
    ...['Event', 'Delivery-Id', 'Idempotency-Key', 'Timestamp', 'Signature'].map((name) => prefix + name),
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
  ],
})
