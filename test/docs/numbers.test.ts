import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { readSettings } from '../../src/core/settings/settings.ts'
import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { readPages, ROOT } from '../harness/markdown.ts'

// Numbers that the pages have by hand must be those of the code.

const environment = readSettings({}, () => ({ ADMIN_JWT_SECRET: '', ENCRYPTION_KEY: Buffer.alloc(32) }))
const defaults = tenantSettings({})

/** The number that a file of `src` calls `name`: a product or a quotient of literals. */
function constant(file: string, name: string): number {
  const source = readFileSync(join(ROOT, 'src', file), 'utf8')
  const [, text] = new RegExp(`^(?:export )?const ${name} = ([\\d_.*/ ]+)$`, 'm').exec(source) ?? []
  if (text === undefined) throw new Error(`src/${file} has no number ${name}: say in this test where it is now`)
  return text
    .replaceAll('_', '')
    .split('*')
    .reduce((product, factor) => product * Number(factor), 1)
}

const seconds = (file: string, name: string): number => constant(file, name) / 1000
const minutes = (file: string, name: string): number => seconds(file, name) / 60
const hours = (file: string, name: string): number => minutes(file, name) / 60
const kib = (file: string, name: string): number => constant(file, name) / 1024

const DOCUMENT = 'graphql/documents/rules.ts'
const MARKDOWN = 'domains/comments/text/markdown.ts'
const HISTORY = 'domains/comments/history/history-sql.ts'
const HANDSHAKES = 'worker/handshakes.ts'
const LIMITS = 'guides/graphql/limits.md'

type Said = readonly [text: string, ...numbers: number[]]

/** What the pages of docs/reference/choices say, with `{}` for each number, and the numbers. */
const CHOICES: Readonly<Record<string, readonly Said[]>> = {
  requests: [
    ['The largest body has {} KiB', kib('api/http/server.ts', 'MAX_BODY_BYTES')],
    ['JSON is nested {} levels deep', constant('core/input/json-shape.ts', 'MAX_JSON_DEPTH')],
    ['Of the wrong values in a request, the first {} are', constant('core/errors.ts', 'MAX_FIELD_ERRORS')],
    ['The lists of an answer take {} MB', constant('core/input/page.ts', 'MAX_ANSWER_BYTES') / 1e6],
    [
      'for each {} events or {} KiB that it replays',
      constant('live/browser-limits.ts', 'EVENTS_PER_TOKEN'),
      kib('live/browser-limits.ts', 'BYTES_PER_TOKEN'),
    ],
    ['makes it come back in {} s', seconds('live/connection.ts', 'REFUSED_RETRY_MS')],
    ['waits for a token of the address ({} a second', environment.UNAUTHENTICATED_RATE_PER_SECOND],
    ['as many again over {} minutes', constant('domains/staff/login-limits.ts', 'WINDOW_SECONDS') / 60],
    [
      'must be there within {} s, the whole request within {} s',
      environment.HEADERS_TIMEOUT_SECONDS,
      environment.REQUEST_TIMEOUT_SECONDS,
    ],
    ['part of an answer unread for {} min', environment.RESPONSE_TIMEOUT_SECONDS / 60],
    ['HTTP/2 has {} requests at once', constant('api/http/server.ts', 'MAX_CONCURRENT')],
    ['A connection without a request ends after {} s', seconds('api/http/sockets/timeouts.ts', 'KEEP_ALIVE_MS')],
  ],
  identity: [
    [
      'fetches the keys of `identity.jwksUrl` every {} min. Where that fails it uses them for {} h more',
      minutes('domains/readers/key-sets.ts', 'REFRESH_MS'),
      hours('domains/readers/key-set.ts', 'KEPT_MS'),
    ],
    ['It opens a stream for {} s', defaults.ticket.connectSeconds],
    ['secrets expire {} h after their rotation', hours('core/secrets/secrets.ts', 'OVERLAP_MS')],
  ],
  comments: [
    [
      'at most {} times the bytes of `body` ({} bytes are always allowed), and at most {}.',
      constant(MARKDOWN, 'MAX_GROWTH'),
      constant(MARKDOWN, 'FLOOR_BYTES'),
      constant(MARKDOWN, 'MAX_HTML_BYTES'),
    ],
    ['From {} characters on, rendering', constant('domains/comments/text/markdown-bounds.ts', 'BASE_WORK')],
    ['A long text (over {} characters', constant(MARKDOWN, 'SHORT_LENGTH')],
    ['A page of {} KiB or more is sent as gzip', kib('api/http/pages/page-cache.ts', 'MIN_GZIP_BYTES')],
  ],
  moderation: [
    [
      "reader's own, of {} characters or more, among their last {} comments of {} hours",
      constant('domains/comments/text/normalize.ts', 'MIN_DIGESTED'),
      constant(HISTORY, 'LATEST'),
      constant(HISTORY, 'HOURS'),
    ],
    ['with {} waiting, the next is 503', constant('core/queues/shared-writer.ts', 'MAX_IN_TURN')],
    ["among the reader's last {}", constant(HISTORY, 'APPROVED_AMONG')],
    ['`commentCounts` over the newest {}', constant('domains/comments/by-reader.ts', 'COUNTED_COMMENTS')],
    ['no answer with a verdict comes in {} s', seconds('worker/classifier.ts', 'TIMEOUT_MS')],
  ],
  streams: [
    ['others gather for {} ms', constant('live/streams/pause.ts', 'MIN_MS')],
    ['at once, a crash after {} s', seconds('data/places/redis.ts', 'LEASE_MS')],
    ['takes more than {} ms to answer', constant('data/places/redis.ts', 'PATIENCE_MS')],
    ['after {} s over a cap or a rate', seconds('live/connection.ts', 'REFUSED_RETRY_MS')],
    ['at most {} streams open at once (`stream.maxStreamsPerTicket`)', defaults.stream.maxStreamsPerTicket],
    ['of one address {} (`stream.maxStreamsPerAddress`)', defaults.stream.maxStreamsPerAddress],
    ['checked once more after {} s', seconds('live/caps.ts', 'SECOND_LOOK_MS')],
    ['covers the first {} comments of each queue', constant('core/database/lists.ts', 'COUNT_LIMIT')],
  ],
  webhooks: [
    ['at most {} endpoints (`webhookEndpoints`)', defaults.webhookEndpoints],
    ['`deliveriesHeld`, counted up to {}.', constant('domains/webhooks/deliveries.ts', 'HELD_LIMIT')],
    ['clear its deliveries, {} at a time', constant('worker/chores.ts', 'CLEARING_BATCH')],
    ['attempt within {} s after its event', constant('worker/statements/lease-sql.ts', 'LIVE_SECONDS')],
    ['twice as many every {} s', constant('worker/statements/policy-sql.ts', 'RAMP_STEP_SECONDS')],
    ['queues at most {} events', constant('domains/webhooks/sending/sending.ts', 'MAX_REPLAYED')],
    ['They go out at {} a second', 1000 / constant('domains/webhooks/sending/sending.ts', 'PACE_MS')],
    ['A worker has {} attempts under way', constant('worker/deliveries.ts', 'MAX_IN_FLIGHT')],
    [
      'Handshakes: {} at most, {} of them',
      constant(HANDSHAKES, 'MAX_IN_FLIGHT'),
      constant(HANDSHAKES, 'MAX_PER_TENANT'),
    ],
  ],
  readers: [
    ['deliveries are counted up to {}, which', constant('core/database/lists.ts', 'COUNT_LIMIT')],
    ['each of at most {} rows of one discussion, archived', constant('domains/merges/move.ts', 'MAX_ROWS')],
    ['each of at most {} rows of one discussion. -', constant('domains/erasure/erase.ts', 'MAX_ROWS')],
  ],
}

/** What other pages say, by their paths below `docs`. */
const ELSEWHERE: readonly (readonly [page: string, ...Said])[] = [
  ['architecture.md', 'The pause is {} ms', constant('live/streams/pause.ts', 'MIN_MS')],
  ['architecture.md', 'Any statement waits at most {} ms', constant('core/database/database.ts', 'LOCK_WAIT_MS')],
  ['architecture.md', 'in batches of {} at most', constant('transfer/import/read-batches.ts', 'BATCH_ITEMS')],
  ['guides/members.md', 'works once, for {} h', constant('domains/staff/membership.ts', 'INVITATION_HOURS')],
  [
    'guides/moving-items.md',
    'more than {} characters as Markdown',
    constant('domains/comments/fields.ts', 'MAX_BODY_LENGTH'),
  ],
  [
    LIMITS,
    'At most {} characters, {} lines, {} tokens, {} operations, {} fragments, {} levels, {} aliases, {} directives and two introspection',
    constant('graphql/documents/size.ts', 'MAX_LENGTH'),
    constant('graphql/documents/size.ts', 'MAX_LINES'),
    constant('graphql/documents/size.ts', 'MAX_TOKENS'),
    constant(DOCUMENT, 'MAX_OPERATIONS'),
    constant(DOCUMENT, 'MAX_FRAGMENTS'),
    constant(DOCUMENT, 'MAX_DEPTH'),
    constant(DOCUMENT, 'MAX_ALIASES'),
    constant(DOCUMENT, 'MAX_DIRECTIVES'),
  ],
  [
    LIMITS,
    '{} spreads of fragments, and {} fields of one name',
    constant(DOCUMENT, 'MAX_REPEATS'),
    constant(DOCUMENT, 'MAX_REPEATS'),
  ],
  [
    LIMITS,
    'of a shared stream has {} characters at most',
    constant('api/graphql-sse/event-stream.ts', 'MAX_OPERATION_ID'),
  ],
  [LIMITS, 'asks for at most {} values', constant('api/execution/cost.ts', 'MAX_COST')],
  [LIMITS, 'asks for at most {} values with each event', constant('api/execution/cost.ts', 'MAX_EVENT_COST')],
  [
    LIMITS,
    'a subscription have {} characters together',
    constant('api/graphql-sse/event-stream.ts', 'MAX_SUBSCRIPTION_LENGTH'),
  ],
  [LIMITS, 'one request have {} characters', constant('domains/comments/fields.ts', 'MAX_BODY_LENGTH')],
  [LIMITS, '`rateLimit.burst` | {} a second, {} at once', defaults.rateLimit.perSecond, defaults.rateLimit.burst],
  [LIMITS, '`clientToken.burst` | {} a second, {} at once', defaults.clientToken.perSecond, defaults.clientToken.burst],
  [
    LIMITS,
    '{} live client tokens at most (`clientToken.maxLivePerReader`), and a tenant {}',
    defaults.clientToken.maxLivePerReader,
    defaults.clientToken.maxLive,
  ],
  [
    LIMITS,
    '{} open at once (`stream.maxStreamsPerTicket`), the tokens of one address {} (`stream.maxStreamsPerAddress`), and a tenant {}',
    defaults.stream.maxStreamsPerTicket,
    defaults.stream.maxStreamsPerAddress,
    defaults.stream.maxStreams,
  ],
  ['operations/operate.md', 'holds rows for longer than {} ms', constant('core/database/database.ts', 'LOCK_WAIT_MS')],
  ['operations/operate.md', 'is near {} on each worker', constant('worker/deliveries.ts', 'MAX_IN_FLIGHT')],
  [
    'operations/operate.md',
    '{} s for a new connection, {} s for a free connection of the pool, {} s for a statement',
    environment.DATABASE_CONNECT_TIMEOUT_SECONDS,
    environment.DATABASE_POOL_TIMEOUT_SECONDS,
    environment.DATABASE_STATEMENT_TIMEOUT_SECONDS,
  ],
]

const inFigures = (number: number): string => String(number).replace(/\B(?=(\d{3})+$)/g, ' ')

const pages = readPages().map(({ path, text }) => [path, text.replace(/\s+/g, ' ')] as const)
const texts = new Map(pages)

const said = [
  ...Object.entries(CHOICES).flatMap(([page, rules]) =>
    rules.map(([text, ...numbers]) => [`reference/choices/${page}.md`, text, numbers] as const),
  ),
  ...ELSEWHERE.map(([page, text, ...numbers]) => [page, text, numbers] as const),
]

test.each(said)('%s: %s', (page, text, numbers) => {
  let n = 0
  expect(texts.get(`docs/${page}`)).toContain(text.replace(/\{\}/g, () => inFigures(numbers[n++] ?? NaN)))
  expect(n).toBe(numbers.length)
})

const named = pages.flatMap(([path, text]) =>
  [...text.matchAll(/`([A-Z][A-Z_]+)` (?:\(|is )(\d[\d ]*\d|\d)(?=[),]| unless)/g)].map(
    ([, name = '', number = '']) => [path, name, number] as const,
  ),
)

test('some pages give the default of a setting behind its name', () => expect(named.length).toBeGreaterThan(3))

test.each(named)('%s: %s has the default %s', (_path, name, number) => {
  expect(inFigures(Number(new Map<string, unknown>(Object.entries(environment)).get(name)))).toBe(number)
})

test('there are no more statements by hand than the page says', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8'))
  const calls = sources.flatMap((source) => source.match(/\bstatement\(/g) ?? [])
  const [, most] =
    /there are at most (\d+)/.exec(texts.get('docs/decisions/0009-prisma-serves-management.md') ?? '') ?? []
  expect(calls.length).toBeLessThanOrEqual(Number(most))
})
