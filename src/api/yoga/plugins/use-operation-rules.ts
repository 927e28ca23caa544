import { schema } from '../../execution/schema.ts'
import { costErrors } from '../../execution/cost.ts'
import { variableErrors } from '../../execution/variables.ts'
import type { ServerPlugin } from '../plugin.ts'

/**
 * Refuses an operation of a valid document before it runs: for its name, its variables or its cost.
 * In the place of @escape.tech/graphql-armor-cost-limit, which does not read the sizes of pages
 * from variables.
 */
export const useOperationRules = (): ServerPlugin => ({
  onValidate:
    ({ context, params: { documentAST } }) =>
    ({ valid, setResult }) => {
      if (!valid) return
      const { operationName, variables: given } = context.params
      const variables = given ?? {}
      const errors = variableErrors(schema, documentAST, operationName, variables)
      setResult([...(errors.length > 0 ? errors : costErrors(schema, documentAST, { operationName, variables }))])
    },
})
