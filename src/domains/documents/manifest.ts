import { z } from 'zod'

import { invalid } from '../../core/errors.ts'
import { inLowerCase } from '../../core/ids.ts'
import { noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'

/** A document of a manifest, with the id that its tool gave it. */
export interface ManifestEntry {
  id: string
  body: string
}

/** The most documents that one manifest may have. */
export const MAX_ENTRIES = 5000
/** A kept document: longer ones would be parsed at each request. */
export const MAX_BODY = 20_000

/** As the draft of persisted documents has it; with a prefix of its own, or without one. */
const ID = /^(sha256:[0-9a-f]{64}|(x-[A-Za-z0-9._~-]+:)?[A-Za-z0-9._~-]+)$/

const idSchema = z.string().max(255).regex(ID, 'must be an id of a document: sha256:<hex>, or letters, digits and -._~')
const bodySchema = noNul(z.string().min(1).max(MAX_BODY))

/** What Apollo's tool writes (`apollo-persisted-query-manifest`, version 1). */
const apolloSchema = z.object({
  format: z.literal('apollo-persisted-query-manifest'),
  version: z.literal(1),
  operations: z.array(z.object({ id: idSchema, body: bodySchema })),
})

/** What Relay's compiler and graphql-codegen's client preset write: texts by their ids. */
const textsSchema = z.record(idSchema, bodySchema)

/**
 * The documents of a manifest, in its order. Throws `validation_failed` for anything that is
 * not a manifest, and for more than 5 000 documents.
 */
export function readManifest(manifest: unknown): ManifestEntry[] {
  const isObject = typeof manifest === 'object' && manifest !== null && !Array.isArray(manifest)
  if (!isObject) throw invalid('/manifest', 'wrong_type', 'must be an object')
  if ('format' in manifest) {
    const { operations } = manifest as { operations?: unknown }
    if (Array.isArray(operations) && operations.length > MAX_ENTRIES) throw tooMany()
    const read = validate(z.object({ manifest: apolloSchema }), { manifest })
    return read.manifest.operations.map(({ id, body }) => ({ id: inLowerCase(id), body }))
  }
  // Left out by the schema, and by whatever copies objects.
  if (Object.hasOwn(manifest, '__proto__')) throw invalid('/manifest/__proto__', 'invalid', 'must be another id')
  // The length comes before the contents, here and for Apollo's list.
  if (Object.keys(manifest).length > MAX_ENTRIES) throw tooMany()
  const { manifest: texts } = validate(z.object({ manifest: textsSchema }), { manifest })
  return Object.entries(texts).map(([id, body]) => ({ id: inLowerCase(id), body }))
}

const tooMany = () => invalid('/manifest', 'too_long', `must have at most ${MAX_ENTRIES} documents`)
