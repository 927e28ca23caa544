import { type DocumentNode, type GraphQLError, specifiedRules, validate, type ValidationRule } from 'graphql'

import type { App } from '../../../core/app.ts'
import { errorsIn, readDocument } from '../../execution/read-document.ts'
import type { ServerPlugin } from '../plugin.ts'

const KNOWN: ReadonlySet<ValidationRule> = new Set(specifiedRules)
const errorsOf = new WeakMap<DocumentNode, readonly GraphQLError[]>()

/** Whether a document of a client keeps the rules for documents. */
export const isValid = (document: DocumentNode): boolean => errorsOf.get(document)?.length === 0

/**
 * Parses and validates a document once, by the rules for documents. In the place of Yoga's own
 * caches, which count documents instead of bytes. Rules that other plugins add run each time.
 */
export const useKeptDocuments = (app: App): ServerPlugin => ({
  onParse: ({ context: { ctx }, setParseFn }) =>
    setParseFn((source: string) => {
      const { document, errors } = readDocument(ctx, source)
      if (document === null) throw errors[0] as GraphQLError
      errorsOf.set(document, errors)
      return document
    }),
  onValidate: ({ setValidationFn }) =>
    setValidationFn((schema, document, rules: readonly ValidationRule[] = [], ...options) => {
      // A plugin that parses by itself has not read the document by `readDocument`.
      const errors = errorsOf.get(document) ?? errorsIn(app, document)
      errorsOf.set(document, errors)
      // Yoga adds those of the specification. A document that ours refuse may be too large for the
      // others, which do not run then.
      const added = rules.filter((rule) => !KNOWN.has(rule))
      return errors.length > 0 || added.length === 0 ? errors : validate(schema, document, added, ...options)
    }),
})
