import { afterEach, describe, expect, test } from 'vitest'

import { readPages } from '../harness/markdown.ts'
import { type Compiled, compileRelay } from '../harness/relay.ts'

let compiled: Compiled | undefined
afterEach(() => compiled?.remove())

const compile = async (...documents: string[]): Promise<Compiled> => (compiled = await compileRelay(documents))

const COMMENT = `fragment Thread_comment on Comment @refetchable(queryName: "ThreadCommentQuery") {
  bodyHtml author { ...Thread_author } }`
const AUTHOR = `fragment Thread_author on Reader @refetchable(queryName: "ThreadAuthorQuery") { name avatarUrl }`
const DISCUSSION = `fragment Thread_discussion on Discussion
  @argumentDefinitions(count: { type: "Int", defaultValue: 20 }, cursor: { type: "String" }, sort: { type: "CommentSort" })
  @refetchable(queryName: "ThreadPaginationQuery") {
    commentCount
    comments(first: $count, after: $cursor, sort: $sort) @connection(key: "Thread_comments", filters: ["sort"]) {
      edges { node { ...Thread_comment ...Thread_replies } }
    }
  }`
const REPLIES = `fragment Thread_replies on Comment
  @argumentDefinitions(count: { type: "Int", defaultValue: 3 }, cursor: { type: "String" })
  @refetchable(queryName: "ThreadRepliesQuery") {
    replies(first: $count, after: $cursor) @connection(key: "Thread_replies") {
      totalCount edges { node { ...Thread_comment } }
    }
  }`
const FRAGMENTS = [COMMENT, AUTHOR, DISCUSSION, REPLIES]

describe("Relay's compiler", () => {
  test('takes fragments that are fetched again, and lists that are paged', async () => {
    const page = `query ThreadQuery($externalId: String!) {
      discussion(by: { externalId: $externalId }) { ...Thread_discussion } }`
    const { artifacts, output, code } = await compile(page, ...FRAGMENTS)
    expect(code, output).toBe(0)
    expect(artifacts).toEqual(
      expect.arrayContaining([
        'ThreadQuery',
        'ThreadCommentQuery',
        'ThreadAuthorQuery',
        'ThreadPaginationQuery',
        'ThreadRepliesQuery',
      ]),
    )
  })

  test('takes mutations that say what becomes of lists and records', async () => {
    const create = `mutation ThreadCreateMutation($input: CreateCommentInput!, $connections: [ID!]!) {
      createComment(input: $input) {
        commentEdge @prependEdge(connections: $connections) { node { ...Thread_comment } }
        parent { id replyCount }
      } }`
    const append = `mutation ThreadAppendMutation($input: CreateCommentInput!, $connections: [ID!]!) {
      createComment(input: $input) { comment @appendNode(connections: $connections, edgeTypeName: "CommentEdge") { id } } }`
    const remove = `mutation ThreadDeleteMutation($input: DeleteCommentInput!, $connections: [ID!]!) {
      deleteComment(input: $input) { deletedCommentId @deleteRecord @deleteEdge(connections: $connections) } }`
    const { artifacts, output, code } = await compile(create, append, remove, ...FRAGMENTS)
    expect(code, output).toBe(0)
    expect(artifacts).toEqual(
      expect.arrayContaining(['ThreadCreateMutation', 'ThreadAppendMutation', 'ThreadDeleteMutation']),
    )
  })

  test('takes the documents of its guide', async () => {
    const guide = readPages().find(({ path }) => path === 'docs/guides/graphql/relay.md')
    const documents = [...(guide?.text.matchAll(/graphql`([^`]+)`/g) ?? [])].map(([, document = '']) => document)
    // In a file of another name.
    const { artifacts, output, code } = await compile(
      ...documents.map((document) => document.replace(/\bComments(?=[A-Z_])/g, 'Thread')),
    )
    expect(code, output).toBe(0)
    expect(artifacts.length).toBeGreaterThan(documents.length)
    expect(documents.length).toBeGreaterThan(3)
  })

  test('refuses to fetch again what is no Node', async () => {
    const { output, code } = await compile(
      'fragment Thread_ban on Ban @refetchable(queryName: "ThreadBanQuery") { until }',
    )
    expect(code).not.toBe(0)
    expect(output).toContain('@refetchable')
  })
})
