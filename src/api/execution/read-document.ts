import { type DocumentNode, GraphQLError, parse } from 'graphql'

import { roomOf } from '../../core/cache.ts'
import { type App, perApp } from '../../core/app.ts'
import { type Ctx, ofRequest } from '../../core/context.ts'
import { hasIntrospection } from '../../core/settings/settings.ts'
import { documentErrors } from '../../graphql/documents/rules.ts'
import { checkTokens } from '../../graphql/documents/size.ts'
import { schema } from './schema.ts'

/** A document and its errors; null if it does not parse. */
interface Checked {
  document: DocumentNode | null
  errors: readonly GraphQLError[]
}

/** Longer documents are not kept. */
export const MAX_KEPT_CHARACTERS = 20_000
/** The memory of a parsed document for each character of its text (measured). */
const BYTES_A_CHARACTER = 50

/** Clients that come back at the same time bring the same few documents. */
const checkedOf = perApp((app) =>
  roomOf(
    app,
    'parsedDocuments',
  )<string, Checked>({
    part: 1,
    bytesOf: (_checked, text) => BYTES_A_CHARACTER * text.length,
  }),
)

/** The document of a request that is too long to be kept for others. */
const longOf = ofRequest<{ query?: string; checked?: Checked }>(() => ({}))

/**
 * Parses and validates a document, once for a request. Throws `validation_failed` for one that has
 * too many tokens.
 */
export function readDocument(ctx: Ctx, query: string): Checked {
  const isLong = query.length > MAX_KEPT_CHARACTERS
  const long = isLong ? longOf(ctx) : null
  const known = long === null ? checkedOf(ctx.app).get(query) : long.query === query ? long.checked : undefined
  if (known !== undefined) return known
  checkTokens(query)
  const checked = checkNow(ctx.app, query)
  if (long === null) checkedOf(ctx.app).set(query, checked)
  else Object.assign(long, { query, checked })
  return checked
}

/** The errors of a document by the rules for documents of clients. */
export const errorsIn = (app: App, document: DocumentNode): readonly GraphQLError[] =>
  documentErrors(schema, document, { introspection: hasIntrospection(app.settings) })

function checkNow(app: App, query: string): Checked {
  try {
    const document = parse(query)
    return { document, errors: errorsIn(app, document) }
  } catch (error) {
    if (error instanceof GraphQLError) return { document: null, errors: [error] }
    throw error
  }
}
