import '../../domains/tenants/graphql.ts'
import '../../domains/exports/graphql.ts'
import '../../domains/keys/graphql.ts'
import '../../domains/readers/graphql.ts'
import '../../domains/settings/graphql.ts'
import '../../domains/discussions/graphql.ts'
import '../../domains/comments/graphql.ts'
import '../../domains/reactions/graphql.ts'
import '../../domains/moderation/graphql.ts'
import '../../domains/classifier/graphql.ts'
import '../../domains/stream/graphql.ts'
import '../../domains/transfer/graphql.ts'
import '../../domains/webhooks/graphql.ts'
import '../../domains/analytics/graphql.ts'
import '../../domains/webhooks/actions.ts'
import '../../domains/audit/graphql.ts'
import '../../domains/overview/graphql.ts'
import '../../domains/privacy/graphql.ts'

import { builder } from '../../schema/builder.ts'
import { showNearest } from '../../schema/unknown-values.ts'

/** The one definition of every field, rule and permission. */
export const schema = showNearest(builder.toSchema())
