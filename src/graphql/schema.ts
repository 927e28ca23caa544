import { builder } from './builder.ts'

/** The one definition of every field, rule and permission. */
export const schema = builder.toSchema()
