import type { DocumentNode, ExecutionArgs } from 'graphql'

const documents = new WeakSet<DocumentNode>()

/** Marks a document as the service's own. It is neither parsed nor validated when it runs. */
export const markOwn = (document: DocumentNode): void => void documents.add(document)

/** Whether it is an operation of the service itself, such as that of a route of REST. */
export const isOwn = (document: DocumentNode): boolean => documents.has(document)

/**
 * Whether it is an event of a subscription, which comes as the root value. It is executed once for
 * all subscribers with the same operation, variables and audience.
 */
export const isEvent = ({ rootValue }: ExecutionArgs): boolean => rootValue !== undefined
