import type { PublicSecret } from '../core/secrets/secrets.ts'
import { builder } from './builder.ts'

const ENDS = 'When it expires: 24 h after a newer one was created, or when it was ended. Null for the current one.'

/**
 * The type of a kind of secret: its public part. No `prismaObject`: rows of that type have the
 * sealed secret, which no operation reads to show it.
 */
export const secretType = (
  name: string,
  { description, kid, expiresAt = ENDS }: { description: string; kid: string; expiresAt?: string },
) =>
  builder.objectRef<PublicSecret>(name).implement({
    description,
    fields: (t) => ({
      kid: t.exposeString('kid', { description: kid }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true, description: expiresAt }),
    }),
  })
