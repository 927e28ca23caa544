import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { useFolder } from '../harness/folders.ts'

const root = join(import.meta.dirname, '../..')

const REFUSED = {
  'core/a.ts': "import '../data/pool.ts'",
  'core/b.ts': "export const load = () => import('../data/pool.ts')",
  'core/c.ts': "export type Pool = import('../data/pool.ts').Pool",
  'core/d.ts': "export type { Pool } from '../data/pool.ts'",
  'core/e.ts': "export { Prisma } from '../generated/prisma/client.ts'",
  'core/g.ts': "import 'pg/lib/client.js'",
  'core/h.ts': "import pool = require('../data/pool.ts')\nexport const h = pool",
  'core/i.ts': 'export const load = () => import(`../data/pool.ts`)',
  'data/a.ts': "import 'fastify'",
  'data/c.ts': "import '@fastify/static'",
  'live/a.ts': "import { request } from 'node:http'\nexport const a = request",
  'transfer/sources/a.ts': "export * from '../../api/http/server.ts'",
  'transfer/sources/b.ts': "import '../../domains/comments/list-sql.ts'",
  'transfer/sources/d.ts': "export * from '../import/own-sql.ts'",
  'domains/comments/c.ts': "export * from '../../transfer/csv.ts'",
  'domains/readers/a.ts': "import type { FastifyRequest } from 'fastify'\nexport type A = FastifyRequest",
  'domains/client-tokens/a.ts': "export * from '../discussions/discussions.ts'\nimport '../discussions/sql.ts'",
  'domains/readers/b.ts': "export * from '../comments/graphql.ts'",
  'domains/readers/graphql.ts': "export * from './rest.ts'",
  'domains/readers/rest.ts': "export * from './readers.ts'",
  'worker/a.ts': "export * from '../domains/webhooks/graphql-types.ts'",
  'clients/backend/a.ts': "export * from '../receiver/verify.ts'",
  'clients/browser/a.ts': "import 'node:fs'",
  'build/a.ts': "export * from '../app.ts'",
  'new.ts': "export * from './app.ts'",
  'new/a.ts': "import 'node:fs'",
}

const ALLOWED = {
  'core/f.ts': "export type { Prisma } from '../generated/prisma/client.ts'",
  'live/b.ts': "export type { ServerResponse } from 'node:http'",
  'transfer/sources/c.ts': "import '../import/own-sql.ts'",
  'transfer/d-sql.ts': "export * from './import/own-sql.ts'",
  'domains/readers/graphql-types.ts': "export * from '../comments/graphql.ts'",
  'worker/b.ts': "export * from '../domains/webhooks/holding-sql.ts'",
  'clients/widget/a.ts': "import 'lit/html.js'",
  'clients/widget/vite.config.ts': "import 'vite'",
}

describe('the rule of the linter about rooms', () => {
  const folder = useFolder()
  let refused: string[] = []

  beforeAll(async () => {
    for (const [path, text] of Object.entries({ ...REFUSED, ...ALLOWED })) {
      mkdirSync(dirname(join(folder, 'src', path)), { recursive: true })
      writeFileSync(join(folder, 'src', path), text)
    }
    mkdirSync(join(folder, 'test'))
    cpSync(join(root, 'test/rooms.mjs'), join(folder, 'test/rooms.mjs'))
    const config = { jsPlugins: ['./rooms.mjs'], rules: { 'rooms/imports': 'error' } }
    writeFileSync(join(folder, 'test/oxlint.json'), JSON.stringify(config))
    const program = [join(root, 'node_modules/oxlint/bin/oxlint'), '-c', 'test/oxlint.json', '-f', 'json', 'src']
    const output = await new Promise<string>((resolve) => {
      execFile(process.execPath, program, { cwd: folder }, (_error, stdout) => resolve(stdout))
    })
    const report = z.object({ diagnostics: z.array(z.object({ code: z.string(), filename: z.string() })) })
    refused = report
      .parse(JSON.parse(output))
      .diagnostics.filter(({ code }) => code === 'rooms(imports)')
      .map(({ filename }) => filename)
  })

  test.each(Object.entries(REFUSED))('in src/%s it refuses %s', (path) => {
    expect(refused).toContain(`src/${path}`)
  })

  test.each(Object.entries(ALLOWED))('in src/%s it allows %s', (path) => {
    expect(refused).not.toContain(`src/${path}`)
  })
})
