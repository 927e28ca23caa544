import type { DocumentNode, GraphQLError } from 'graphql'

import type { App } from '../../../core/context.ts'
import { readDocument } from '../../execution/read-document.ts'
import type { ServerPlugin } from '../plugin.ts'

/**
 * Parses and validates a document once, by the rules for documents. In the place of Yoga's own
 * caches, which count documents instead of bytes.
 */
export function useKeptDocuments(app: App): ServerPlugin {
  const errorsOf = new WeakMap<DocumentNode, readonly GraphQLError[]>()
  return {
    onParse: ({ setParseFn }) =>
      setParseFn((source: string) => {
        const { document, errors } = readDocument(app, source)
        if (document === null) throw errors[0] as GraphQLError
        errorsOf.set(document, errors)
        return document
      }),
    onValidate: ({ params: { documentAST }, setResult }) => setResult([...(errorsOf.get(documentAST) ?? [])]),
  }
}
