import { join } from 'node:path'

import { assertionVectors, TENANT } from './assertion-vectors.ts'
import { standardVectors } from './standard-vectors.ts'
import { webhookVectors } from './webhook-vectors.ts'

const print = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

const folder = join(import.meta.dirname, '../../vectors')

/**
 * The files that receivers and backends in other languages can test against, and what they hold.
 */
export const VECTOR_FILES = {
  webhooks: {
    path: join(folder, 'webhook-signatures.json'),
    make: () => print({ toleranceSeconds: 300, vectors: webhookVectors() }),
  },
  standard: {
    path: join(folder, 'standard-webhooks.json'),
    make: () => print({ toleranceSeconds: 300, vectors: standardVectors() }),
  },
  assertions: {
    path: join(folder, 'identity-assertions.json'),
    make: () => print({ tenant: TENANT, vectors: assertionVectors() }),
  },
}
