import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { COLUMNS, newCommentSchema, SHOWN_COLUMNS, type ShownColumn } from '../../src/domains/comments/fields.ts'
import { Prisma } from '../../src/generated/prisma/client.ts'
import { ROOT } from '../harness/markdown.ts'

const WIDGET = ['views/comment-view', 'actions', 'views/actions-view', 'views/panel-view', 'state']

/** The files of a client that show a comment, and the fields that it has no use for. */
const CLIENTS: [client: string, files: readonly string[], without: readonly ShownColumn[]][] = [
  ['console', ['src/console/pages/discussions/discussions.graphql'], ['bodyHtml', 'deletedAt', 'depth']],
  ['widget', WIDGET.map((name) => `src/clients/widget/${name}.ts`), ['deletedAt', 'discussionId', 'revision']],
  // Apollo Client, urql, Relay: they show the HTML, and groups in place of the counts.
  ['graphql', ['src/clients/graphql/page.graphql'], ['body', 'reactionCounts', 'revision']],
]

const sourceOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

test.each(CLIENTS)('the client %s shows each field of a comment; otherwise name it here', (_name, files, without) => {
  const source = files.map(sourceOf).join('\n')
  const missing = SHOWN_COLUMNS.filter((name) => !new RegExp(`\\b${name}\\b`).test(source))
  expect(missing.toSorted()).toEqual(without)
})

test('REST takes each field that readers give', () => {
  const operations = sourceOf('src/domains/comments/rest.ts').match(/mutation CreateComment\w*\([^)]*\)/g) ?? []
  expect(operations).toHaveLength(2)
  for (const operation of operations) {
    for (const name of Object.keys(newCommentSchema.shape)) expect(operation).toContain(`$${name}:`)
  }
})

/** What only lists and queues need. */
const OF_LISTS = ['tenantId', 'reactionCount', 'reportCount', 'reportsAnswered']

test('the table of fields has every column of comments', () => {
  const columns = Object.keys(Prisma.CommentScalarFieldEnum)
  expect(columns.filter((name) => !OF_LISTS.includes(name)).toSorted()).toEqual([...COLUMNS].toSorted())
})
