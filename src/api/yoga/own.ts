import type { DocumentNode } from 'graphql'

const documents = new WeakSet<DocumentNode>()

/** Marks a document as the service's own: no rule for clients applies to it. */
export const markOwn = (document: DocumentNode): void => void documents.add(document)

/** Whether it is an operation of the service itself, such as that of a route of REST. */
export const isOwn = (document: DocumentNode): boolean => documents.has(document)
