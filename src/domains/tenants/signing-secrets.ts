import { recorderFor } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Prisma } from '../../core/database/database.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { PublicSecret } from '../../core/secrets/secrets.ts'
import { newSigningSecret, sealSecret, type ShownSecret, shownOf } from '../../core/secrets/signing-secrets.ts'
import { endSecretOf, replaceSecret } from './secrets.ts'

interface Row {
  tenantId: string
  kid: string
  sealed: Buffer<ArrayBuffer>
  createdAt: Date
}

/** The secrets that sign requests to a program of the tenant. */
const KINDS = {
  classifier_secret: (prisma: Prisma, data: Row): Promise<unknown> => prisma.classifierSecret.create({ data }),
  mail_secret: (prisma: Prisma, data: Row): Promise<unknown> => prisma.mailSecret.create({ data }),
}

export type SigningKind = keyof typeof KINDS

/** Makes a secret; the previous one signs beside it for 24 h. It is shown only here. */
export async function createSigningSecret(ctx: Ctx, kind: SigningKind): Promise<ShownSecret & { createdAt: Date }> {
  const { app } = ctx
  const tenantId = requireCaller(ctx).tenant.id
  const made = newSigningSecret()
  const sealed = sealSecret(app.settings, tenantId, made)
  const shown = await replaceSecret(
    app,
    tenantId,
    kind,
    async ({ prisma }, createdAt) => {
      await KINDS[kind](prisma, { tenantId, kid: made.kid, sealed, createdAt })
      return shownOf(made)
    },
    recorderFor(ctx),
  )
  announceChange(app, { kind: 'tenant', tenantId })
  return shown
}

/**
 * Ends a secret at once: it signs no further request. One that has ended is unchanged. Throws
 * `not_found`.
 */
export async function revokeSigningSecret(
  ctx: Ctx,
  kind: SigningKind,
  { kid }: { kid: string },
): Promise<PublicSecret> {
  const tenantId = requireCaller(ctx).tenant.id
  const ended = await endSecretOf(ctx.app, tenantId, kind, kid, recorderFor(ctx))
  announceChange(ctx.app, { kind: 'tenant', tenantId })
  return ended
}
