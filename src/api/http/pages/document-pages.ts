import type { FastifyReply, FastifyRequest } from 'fastify'

import type { Ctx } from '../../../core/context.ts'
import { isSeenByClient } from '../../../domains/discussions/scope.ts'
import { findPageVersion } from '../../../domains/comments/history/version.ts'
import type { Responded } from '../../execution/once.ts'
import { pageNameOf, pagePlanOf } from '../../execution/page-plan.ts'
import type { Params } from '../../execution/params.ts'
import { PAGE_RULE } from './comment-pages.ts'
import { sendKept } from './kept-page.ts'

/** Thrown by an answer with errors, which each request must have by itself. */
class Refused extends Error {}

interface DocumentPage {
  type: string
  vary: string
  respond: (ctx: Ctx) => Promise<Responded>
}

/**
 * Answers a document that asks for a page of comments from the pages that are kept, as REST does.
 * Null for any other document, for a reader, who may see other things in it, and for an answer with
 * errors: these are to be executed.
 */
export async function sendDocumentPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { query, operationName, variables }: Params,
  { type, vary, respond }: DocumentPage,
): Promise<FastifyReply | null> {
  const { ctx } = request
  if (ctx.caller === null || ctx.caller.identity !== null) return null
  const plan = pagePlanOf(ctx, query)
  const sent = plan?.inLowerCase(variables ?? {}) ?? {}
  const name = plan && pageNameOf(plan, sent)
  const found = name && (await findPageVersion(ctx, name))
  if (plan === null || found === null || !(await isSeenByClient(ctx, { id: found.discussionId }))) return null
  const { tenant } = ctx.caller
  const types = plan.hasTypes ? tenant.settings.reactionTypes.join() : ''
  // Others are ignored. One that is not given has its default, which null has not.
  const given = plan.variables.map((each) => (Object.hasOwn(sent, each) ? [sent[each]] : []))
  const asked = JSON.stringify([operationName, given, types])
  try {
    return await sendKept(request, reply, {
      key: `${tenant.id} ${found.discussionId} ${PAGE_RULE} ${plan.form} ${asked}`,
      version: found.version,
      type,
      vary,
      make: async () => {
        const { body, errors } = await respond(ctx)
        if (errors.length > 0) throw new Refused()
        return { bytes: Buffer.from(body), slots: [] }
      },
    })
  } catch (error) {
    if (error instanceof Refused) return null
    throw error
  }
}
