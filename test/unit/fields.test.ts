import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import * as comments from '../../src/domains/comments/fields.ts'
import * as discussions from '../../src/domains/discussions/fields.ts'
import * as readers from '../../src/domains/readers/fields.ts'
import { Prisma } from '../../src/generated/prisma/client.ts'
import { ROOT } from '../harness/markdown.ts'

const WIDGET = ['views/comment-view', 'actions', 'views/actions-view', 'writing/panel-view', 'state'].map(
  (name) => `src/clients/widget/${name}.ts`,
)

interface Shown {
  fields: readonly string[]
  /** The files that show them. */
  files: readonly string[]
  /** The fields that they have no use for. */
  without: readonly string[]
}

const CLIENTS: Readonly<Record<string, Shown>> = {
  'the console shows comments': {
    fields: comments.SHOWN_COLUMNS,
    files: ['src/console/pages/discussions/discussions.graphql'],
    without: ['deletedAt', 'depth'],
  },
  'the widget shows comments': {
    fields: comments.SHOWN_COLUMNS,
    files: WIDGET,
    without: ['deletedAt', 'discussionId'],
  },
  // Apollo Client, urql, Relay: they show the HTML, and groups in place of the counts.
  'the GraphQL documents show comments': {
    fields: comments.SHOWN_COLUMNS,
    files: ['src/clients/graphql/page.graphql'],
    without: ['body', 'reactionCounts', 'revision'],
  },
  'the console shows readers': {
    fields: [...readers.PROFILE, ...readers.OF_RECORD],
    files: ['src/console/pages/readers/readers.graphql'],
    without: ['avatarUrl'],
  },
  'REST shows the records of readers': {
    fields: readers.OF_RECORD,
    files: ['src/domains/readers/rest.ts'],
    without: [],
  },
  'the widget shows authors': { fields: readers.CLAIMED, files: WIDGET, without: [] },
  'the GraphQL documents show authors': {
    fields: readers.CLAIMED,
    files: ['src/clients/graphql/page.graphql'],
    without: [],
  },
  "a publisher's backend asserts readers": {
    fields: readers.CLAIMED,
    files: ['src/clients/backend/readers.ts'],
    without: [],
  },
  'the console shows discussions': {
    fields: discussions.JSON_FIELDS,
    files: ['src/console/pages/discussions/discussions.graphql'],
    without: ['updatedAt'],
  },
}

const sourceOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

test.each(Object.entries(CLIENTS))('%s: each field; otherwise name it here', (_name, { fields, files, without }) => {
  const source = files.map(sourceOf).join('\n')
  const missing = fields.filter((name) => !new RegExp(`\\b${name}\\b`).test(source))
  expect(missing.toSorted()).toEqual(without)
})

test('REST takes each field that readers give', () => {
  const operations = sourceOf('src/domains/comments/rest.ts').match(/mutation CreateComment\w*\([^)]*\)/g) ?? []
  expect(operations).toHaveLength(2)
  for (const operation of operations) {
    for (const name of Object.keys(comments.newCommentSchema.shape)) expect(operation).toContain(`$${name}:`)
  }
})

/** What only lists and queues need. */
const OF_LISTS = ['reactionCount', 'reportCount', 'reportsAnswered']
/** What only erasures and deletions need. */
const OF_REMOVALS = ['deletedAt', 'removalDueAt', 'scrubs']

test.each([
  ['comments', Prisma.CommentScalarFieldEnum, [...comments.COLUMNS, ...OF_LISTS]],
  ['discussions', Prisma.DiscussionScalarFieldEnum, [...Object.keys(discussions.FIELDS), ...OF_REMOVALS]],
  ['readers', Prisma.ReaderScalarFieldEnum, Object.keys(readers.FIELDS)],
])('the table of fields has every column of %s', (_table, columns, fields) => {
  expect(
    Object.keys(columns)
      .filter((name) => name !== 'tenantId')
      .toSorted(),
  ).toEqual([...fields].toSorted())
})
