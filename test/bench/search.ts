import { newId } from '../../src/core/ids.ts'
import { statement } from '../../src/core/database/statements.ts'
import { unnamed } from '../harness/sql.ts'
import { openBare } from './bare-posts.ts'
import { demoTenant } from './fill.ts'
import { inTurns, printTurns, run } from './figures.ts'
import { httpRequest } from './load.ts'
import { measure } from './measure.ts'
import { closing } from './scripts.ts'
import { openDatabase, startBenchService } from './service.ts'
import { sized } from './size.ts'

const COMMENTS = sized(1_000_000, 2000)
const BATCH = sized(20_000, 1000)
const SECONDS = sized(4, 0.1)

const PATIENCE = statement('search_patience', 'SET statement_timeout = 0')

const PLACES = unnamed(`WITH reader AS (
    INSERT INTO readers (tenant_id, id, external_id, profile_issued_at) VALUES ($1, $2, 'searched', now())
  )
  INSERT INTO discussions (tenant_id, id, external_id) SELECT $1, d, d::text FROM unnest($3::uuid[]) AS d`)

/** Words as in a language: few are in most texts, many in one. Also words of a known frequency. */
const FILL =
  unnamed(`INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status, deleted_at, created_at)
  SELECT $1, (lpad(to_hex(1700000000000 + n * 1000::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
    ($3::uuid[])[1 + n % cardinality($3::uuid[])], $2, t.body, '<p>' || t.body || '</p>',
    CASE WHEN n % 1000 = 1 THEN 'deleted' ELSE 'approved' END::comment_status, CASE WHEN n % 1000 = 1 THEN now() END,
    to_timestamp(1700000000 + n)
  FROM generate_series($5::int, $6::int) AS n
  CROSS JOIN LATERAL (
    SELECT 'everywhere ' || string_agg('word' || floor(50000 ^ random())::int, ' ')
      || CASE WHEN n % 2 = 0 THEN ' even' ELSE ' odd' END || CASE WHEN n = $4::int / 2 THEN ' single' ELSE '' END
      || CASE WHEN n % 250 = 0 THEN ' seldom' ELSE '' END || CASE WHEN n < $4 / 3 THEN ' formerly' ELSE '' END AS body
    FROM generate_series(1, 24 + n * 0)
  ) t`)

const CASES = {
  'a word of every comment': 'search=everywhere',
  'a word of one comment': 'search=single',
  'a word of one comment, and one of all': 'search=everywhere+single',
  'a word of 1 in 250': 'search=seldom',
  'the beginning of half of all words': 'search=w',
  'a word of the oldest third': 'search=formerly',
  'two words that no comment has both': 'search=even+odd',
  'a word that none has': 'search=nowhere',
  'a state that few have': 'status=deleted',
  'the same, with a word of all': 'status=deleted&search=everywhere',
} as const

const TRIGGER = (verb: 'ENABLE' | 'DISABLE') => unnamed(`ALTER TABLE comments ${verb} TRIGGER comment_search_created`)

/**
 * What the index of comments' words costs a post, and how long searches take among many comments,
 * with and without statistics of the tables.
 */
export const benchSearch = (): Promise<void> =>
  closing(async (opened) => {
    const service = opened(await startBenchService())
    const { db } = opened(await openDatabase(service))
    await db.query(PATIENCE)
    const bare = opened(await openBare(service))
    const posts = (verb: 'ENABLE' | 'DISABLE') => async () => {
      await db.query(TRIGGER(verb))
      return { perSecond: await bare.run(SECONDS) }
    }
    const sides = { 'without the index of words': posts('DISABLE'), 'with it': posts('ENABLE') }
    const rounds = await inTurns(sides, run, { rounds: 5 })
    printTurns('search: the create statement, one comment each, 16 connections', rounds, {
      'with it': ['without the index of words', 'rate at least 0.85'],
    })

    const tenantId = await demoTenant(db)
    await db.query(unnamed('ALTER TABLE comments SET (autovacuum_enabled = false)'))
    await db.query(unnamed('ALTER TABLE comment_search SET (autovacuum_enabled = false)'))
    const pages = Array.from({ length: sized(1000, 10) }, newId)
    const readerId = newId()
    await db.query(PLACES, [tenantId, readerId, pages])
    for (let n = 0; n < COMMENTS; n += BATCH) {
      await db.query(FILL, [tenantId, readerId, pages, COMMENTS, n + 1, n + BATCH])
    }
    await db.query(unnamed('VACUUM'))
    for (const statistics of ['without', 'with']) {
      if (statistics === 'with') await db.query(unnamed('ANALYZE'))
      const searches = Object.fromEntries(
        Object.entries(CASES).map(([name, query]) => {
          const request = httpRequest('GET', `/api/v1/comments?${query}`, { 'X-API-Key': service.apiKey })
          return [name, () => measure({ process: service, requests: [request] }, { connections: 1, seconds: SECONDS })]
        }),
      )
      const title = `search: GET /comments among ${COMMENTS} comments, ${statistics} statistics, one connection`
      printTurns(title, await inTurns(searches, run, { rounds: 1, warm: 0 }))
    }
  })
