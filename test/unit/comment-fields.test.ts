import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { COLUMNS, SHOWN_COLUMNS, type ShownColumn } from '../../src/domains/comments/fields.ts'
import { Prisma } from '../../src/generated/prisma/client.ts'
import { ROOT } from '../harness/markdown.ts'

/** Fields of a comment that a client has no use for. */
const WITHOUT: [client: string, readonly ShownColumn[]][] = [
  ['src/console/pages/discussions', ['bodyHtml', 'deletedAt']],
  ['src/clients/widget', ['deletedAt', 'discussionId', 'revision']],
  // Apollo Client, urql, Relay: they show the HTML, and groups in place of the counts.
  ['src/clients/graphql/page.graphql', ['body', 'reactionCounts', 'revision']],
]

const sourceOf = (path: string): string =>
  path.endsWith('.graphql')
    ? readFileSync(join(ROOT, path), 'utf8')
    : readdirSync(join(ROOT, path))
        .filter((name) => /\.(tsx?|graphql)$/.test(name))
        .map((name) => readFileSync(join(ROOT, path, name), 'utf8'))
        .join('\n')

test.each(WITHOUT)('%s shows each field of a comment; otherwise name it here', (path, without) => {
  const source = sourceOf(path)
  const missing = SHOWN_COLUMNS.filter((name) => !new RegExp(`\\b${name}\\b`).test(source))
  expect(missing.toSorted()).toEqual(without)
})

/** What only lists and queues need. */
const OF_LISTS = ['tenantId', 'reactionCount', 'reportCount', 'reportsAnswered']

test('the table of fields has every column of comments', () => {
  const columns = Object.keys(Prisma.CommentScalarFieldEnum)
  expect(columns.filter((name) => !OF_LISTS.includes(name)).toSorted()).toEqual([...COLUMNS].toSorted())
})
