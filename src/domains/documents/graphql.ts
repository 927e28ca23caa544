import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { wrongIn } from '../../graphql/documents/check.ts'
import { addDocuments, deleteDocument, type KnownDocument, listDocuments } from './documents.ts'

const DocumentRef = builder.objectRef<KnownDocument>('Document').implement({
  description: "A GraphQL document that the tenant's clients run by its id.",
  fields: (t) => ({
    documentId: t.exposeString('documentId', {
      description: 'The id of the document: `sha256:` and the hash of its text in lower-case hex.',
    }),
    aliases: t.exposeStringList('aliases', { description: 'Further ids of the document, as tools have given them.' }),
    body: t.exposeString('body', { description: 'The text of the document.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was added.' }),
  }),
})

builder.queryField('documents', (t) =>
  t.connection({
    type: DocumentRef,
    access: 'manage_settings',
    description: "Returns the GraphQL documents that the tenant's clients run by their ids.",
    resolve: (_root, args, ctx) => listDocuments(ctx, args),
  }),
)

addMutation('addDocuments', {
  takes: 'The documents to add.',
  input: (t) => ({
    manifest: t.field({
      type: 'JSON',
      required: true,
      description:
        "A manifest of at most 5 000 documents: an object of texts by their ids, as Relay's compiler and graphql-codegen write it, or that of Apollo's tool (`apollo-persisted-query-manifest`, version 1). A text has at most 20 000 characters. A request has one manifest.",
    }),
  }),
  access: 'manage_settings',
  throws: ['document_conflict'],
  description:
    'Adds documents that clients then run by their ids. Those that the tenant has already stay. All are added, or none.',
  resolve: async (input, ctx, { schema }) => ({
    documents: await addDocuments(ctx, input.manifest, (body) => wrongIn(schema, body)),
  }),
  answers: 'The documents of the manifest.',
  output: (t) => ({
    documents: t.expose('documents', { type: [DocumentRef], description: 'The documents, without repeats.' }),
  }),
})

addMutation('deleteDocument', {
  takes: 'A document to delete.',
  input: (t) => ({
    documentId: t.id({ required: true, description: 'An id of the document: its own, or an alias.' }),
  }),
  access: 'manage_settings',
  throws: ['not_found'],
  description: 'Deletes a document with all its ids. It is run for 5 s more at most.',
  resolve: async (input, ctx) => ({ document: await deleteDocument(ctx, input) }),
  answers: 'The deleted document.',
  output: (t) => ({
    document: t.expose('document', { type: DocumentRef, description: 'The document.' }),
  }),
})
