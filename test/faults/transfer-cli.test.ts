import { spawn } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { withDatabase } from '../../src/app.ts'
import { createLog } from '../../src/core/telemetry/log.ts'
import { readSettings } from '../../src/core/settings/settings.ts'
import { embeddedSecrets } from '../../src/data/embedded/secrets.ts'
import { openEmbedded } from '../../src/data/embedded/embedded.ts'
import { openServer } from '../../src/data/server/server.ts'
import { createTenant } from '../../src/domains/bootstrap/bootstrap.ts'
import { CLI, type Outcome, runProgram } from '../harness/cli.ts'
import { onServer } from '../harness/database.ts'
import { useFolder } from '../harness/folders.ts'
import { ownDatabase } from '../harness/own-database.ts'
import type { Env } from '../harness/processes.ts'
import { unnamed } from '../harness/sql.ts'
import { writeItems } from '../harness/transfer.ts'

// Each command opens the embedded database again, which takes seconds: there is tried only what it
// may change.
const SERVER_ONLY = onServer ? '' : ' (skipped: the same with DATABASE_URL)'

/** So many that a signal meets their export. */
const COMMENTS = unnamed(
  `WITH page AS (
     INSERT INTO discussions (tenant_id, id, external_id, comment_count)
     VALUES ($1, gen_random_uuid(), 'large', 12000) RETURNING tenant_id, id
   )
   INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status, first_approved_at)
   SELECT tenant_id, gen_random_uuid(), id, repeat('x', 500), repeat('x', 500), 'approved', now() FROM page, generate_series(1, 12000)`,
)

const folder = useFolder()
let env: Env
let remove: () => Promise<void>

beforeAll(async () => {
  ;({ env, remove } = await ownDatabase())
  const settings = readSettings(env, embeddedSecrets)
  const database = onServer
    ? await openServer({ url: env.DATABASE_URL ?? '', size: 2, onError: () => undefined })
    : await openEmbedded(env.DATA_DIR ?? '')
  const { app, close } = withDatabase(settings, createLog('silent'), database)
  for (const slug of ['acme', 'empty']) await createTenant(app, { slug })
  const large = await createTenant(app, { slug: 'large' })
  await database.db.query(COMMENTS, [large.tenant.id])
  await close()
  writeItems(join(folder, 'items.jsonl'), [
    { kind: 'reader', id: 'ann', name: 'Ann' },
    { kind: 'discussion', id: 'p', externalId: 'page-p' },
    { kind: 'comment', id: '1', discussionId: 'p', authorId: 'ann', body: 'One', createdAt: '2015-03-01T10:00:00Z' },
    { kind: 'comment', id: '2', discussionId: 'p', parentId: '9', body: 'Two', createdAt: '2015-03-01T10:00:01Z' },
    { kind: 'comment', id: '3', discussionId: 'gone', body: 'Three', createdAt: '2015-03-01T10:00:02Z' },
  ])
})

afterAll(() => remove())

const run = (command: string, args: string[]): Promise<Outcome> => runProgram(command, args, env, { cwd: folder })

const cli = (...args: string[]): Promise<Outcome> => run(process.execPath, [CLI, ...args])

/** Runs a command on a terminal, whose two outputs are one. */
const onTerminal = (...args: string[]): Promise<Outcome> =>
  run('script', ['-qec', [process.execPath, CLI, ...args].join(' '), '/dev/null'])

const linesOf = ({ stdout }: Outcome): object[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)

const IMPORT = ['import', '--tenant', 'acme', '--from', 'jsonl'] as const

describe('an import', () => {
  test('into a pipe prints lines of JSON, the report last, and exits with 1 if items were refused', async () => {
    for (const more of [['--dry-run'], []]) {
      const result = await cli(...IMPORT, 'items.jsonl', ...more)
      expect([result.code, result.stderr]).toEqual([1, ''])
      const lines = linesOf(result)
      expect(lines).toContainEqual({ refused: { place: 'line 5', reason: expect.stringContaining('page') } })
      expect(lines).toContainEqual({ changed: { place: 'line 4', reason: expect.stringContaining('top level') } })
      const { size } = statSync(join(folder, 'items.jsonl'))
      expect(lines.findLast((line) => 'progress' in line)).toMatchObject({ progress: { bytes: size, items: 5 } })
      expect(lines.at(-1)).toMatchObject({
        report: { source: 'jsonl', counts: { readers: 1, discussions: 1, comments: 2 }, refused: { total: 1 } },
      })
      const { report } = lines.at(-1) as { report: { dryRun?: boolean } }
      expect(report.dryRun).toBe(more.length === 0 ? undefined : true)
    }
  })

  test.skipIf(!onServer)(`on a terminal shows a bar, the refused items, and the report${SERVER_ONLY}`, async () => {
    const { code, stdout } = await onTerminal(...IMPORT, '--as', 'again', 'items.jsonl')
    expect(code).toBe(1)
    expect(stdout).toMatch(/100% \| 2 comments, 5 items/)
    expect(stdout).toMatch(/Not taken: 1\r\n {2}What can only be counted, [^\n]+\r\n {2}line 5 is of a page/)
    expect(stdout).toMatch(/Taken otherwise than in the file: 1\r\n {2}line 4 replies/)
    const report = stdout.slice(stdout.lastIndexOf('\n{') + 1)
    expect(JSON.parse(report)).toMatchObject({ counts: { comments: 2 }, refused: { total: 1 } })
  })

  test.skipIf(!onServer)(`reports how much of its tables it has used, and so does the list${SERVER_ONLY}`, async () => {
    writeFileSync(join(folder, 'ids.csv'), 'ann,user-1\nben,user-2\n')
    const tables = { authors: { rows: 2, used: 1, firstUnused: ['row 2'] } }
    for (const more of [['--dry-run'], []]) {
      const result = await cli(...IMPORT, '--as', 'tables', 'items.jsonl', '--authors', 'ids.csv', ...more)
      expect(linesOf(result).at(-1)).toMatchObject({ report: { tables } })
    }
    const list = linesOfJson(await cli('import', 'list', '--tenant', 'acme'))
    expect(list).toContainEqual(expect.objectContaining({ source: 'tables', tables }))
    writeFileSync(join(folder, 'of-another-site.csv'), '/elsewhere,/here\n')
    const { stderr } = await cli(...IMPORT, 'items.jsonl', '--map', 'of-another-site.csv', '--dry-run')
    expect(stderr).toContain('No row of --map was used: is it one of this site?\n')
  })

  test('of a file that was imported before says that ids stay, where it asks for others', async () => {
    const result = await cli(...IMPORT, 'items.jsonl', '--page', 'path')
    expect(result.stderr).toBe(
      'All of the file was imported before, and keeps its ids: for others, first take that import back with import undo\n',
    )
  })

  test.skipIf(!onServer)(
    `is refused in one line, whatever is wrong with its files, and leaves no row${SERVER_ONLY}`,
    async () => {
      mkdirSync(join(folder, 'a-folder'))
      writeFileSync(join(folder, 'odd.csv'), 'old,new\n/a\n')
      const before = linesOfJson(await cli('import', 'list', '--tenant', 'empty'))
      const into = ['import', '--tenant', 'empty', '--from', 'jsonl'] as const
      const wrong: [string[], string][] = [
        [['nowhere.jsonl'], 'nowhere.jsonl: there is no such file'],
        [['a-folder'], 'a-folder: is a folder, not a file'],
        [['items.jsonl', '--map', 'nowhere.csv'], 'nowhere.csv: there is no such file'],
        [['items.jsonl', '--map', 'odd.csv'], 'odd.csv: row 2 has not two columns, with a comma between them'],
        [['items.jsonl', '--authors', 'a-folder'], 'a-folder: is a folder, not a file'],
      ]
      for (const [args, reason] of wrong) {
        expect(await cli(...into, ...args), args.join(' ')).toEqual({ code: 1, stdout: '', stderr: `${reason}\n` })
      }
      expect(linesOfJson(await cli('import', 'list', '--tenant', 'empty'))).toEqual(before)
    },
  )

  test.skipIf(!onServer)(
    `takes a word that is no file for an unknown command; a file needs no dot${SERVER_ONLY}`,
    async () => {
      const stderr =
        'there is no command import undos, and no file undos\n' +
        'Commands: import, import list, import undo. npm run cli -- help describes them\n'
      expect(await cli('import', 'undos', 'an-id', '--tenant', 'acme')).toEqual({ code: 2, stdout: '', stderr })
      writeItems(join(folder, 'items'), [{ kind: 'reader', id: 'eve', name: 'Eve' }])
      expect(await cli('import', 'items', '--tenant', 'acme', '--from', 'jsonl')).toMatchObject({ code: 0 })
    },
  )

  test.skipIf(onServer).each([
    [['items.jsonl', 'more.jsonl'], 'only one <file> is taken: "more.jsonl" is left over'],
    [['items.jsonl', '--dry-run', '--dry-run'], '--dry-run is given twice'],
    [['items.jsonl', '--from', 'disqus'], '--from is given twice'],
    [[], '<file> is required'],
  ])(
    `of %s is a wrong command line${onServer ? ' (skipped: the same without DATABASE_URL)' : ''}`,
    async (args, what) => {
      const { code, stdout, stderr } = await cli(...IMPORT, ...args)
      expect({ code, stdout, first: stderr.split('\n')[0] }).toEqual({ code: 2, stdout: '', first: what })
    },
  )
})

const linesOfJson = ({ stdout }: Outcome): unknown => JSON.parse(stdout)

describe('an export', () => {
  const EXPORT = ['export', '--tenant', 'acme'] as const
  const isExport = (text: string): boolean => text.startsWith('{"kind":"header"') && text.endsWith('}\n')
  const parts = (): string[] => readdirSync(folder).filter((name) => name.includes('.part'))

  test('goes to a new file, compressed or not, and its report to a pipe or a terminal', async () => {
    const plain = await cli(...EXPORT, 'plain.jsonl')
    expect([plain.code, plain.stderr]).toEqual([0, ''])
    expect(linesOf(plain).at(-1)).toMatchObject({ report: { tenant: 'acme', file: 'plain.jsonl' } })
    expect(isExport(readFileSync(join(folder, 'plain.jsonl'), 'utf8'))).toBe(true)
    const shown = await onTerminal(...EXPORT, 'packed.jsonl.gz')
    expect(shown.stdout).toMatch(/100% \| \d+ of \d+ comments/)
    expect(shown.stdout).toMatch(/\{\r\n {2}"tenant": "acme"/)
    expect(isExport(gunzipSync(readFileSync(join(folder, 'packed.jsonl.gz'))).toString())).toBe(true)
  })

  test.skipIf(!onServer)(`without a file goes to standard output, which gets nothing else${SERVER_ONLY}`, async () => {
    const { code, stdout, stderr } = await cli(...EXPORT)
    expect([code, isExport(stdout)]).toEqual([0, true])
    expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({ report: { tenant: 'acme' } })
  })

  test.skipIf(!onServer)(`keeps the mode of the file that it replaces, and a link to it${SERVER_ONLY}`, async () => {
    const file = join(folder, 'kept.jsonl')
    writeFileSync(file, 'old')
    chmodSync(file, 0o640)
    symlinkSync(file, join(folder, 'link.jsonl'))
    expect((await cli(...EXPORT, 'link.jsonl')).code).toBe(0)
    expect(lstatSync(join(folder, 'link.jsonl')).isSymbolicLink()).toBe(true)
    expect(isExport(readFileSync(file, 'utf8'))).toBe(true)
    expect(statSync(file).mode & 0o777).toBe(0o640)
    expect(parts()).toEqual([])
  })

  test.skipIf(!onServer)(`writes directly into a device and a pipe${SERVER_ONLY}`, async () => {
    // A link stands for the device: a test that fails does not replace it.
    symlinkSync('/dev/null', join(folder, 'null'))
    expect((await cli(...EXPORT, 'null')).code).toBe(0)
    expect(lstatSync(join(folder, 'null')).isSymbolicLink()).toBe(true)
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true)
    await run('mkfifo', [join(folder, 'fifo')])
    const read = run('cat', [join(folder, 'fifo')])
    expect((await cli(...EXPORT, 'fifo')).code).toBe(0)
    expect(isExport((await read).stdout)).toBe(true)
    expect(statSync(join(folder, 'fifo')).isFIFO()).toBe(true)
  })

  test.skipIf(!onServer)(`is refused in one line if it cannot be written${SERVER_ONLY}`, async () => {
    mkdirSync(join(folder, 'out'))
    for (const [file, reason] of [
      ['nowhere/out.jsonl', 'nowhere/out.jsonl: its folder is not there'],
      ['out', 'out: is a folder, not a file'],
    ] as const) {
      expect(await cli(...EXPORT, file)).toEqual({ code: 1, stdout: '', stderr: `${reason}\n` })
    }
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('that %s stops leaves what was there, and no part of its file', async (signal, status) => {
    const file = join(folder, 'stopped.jsonl')
    const stop = async (): Promise<[number | null, string]> => {
      writeFileSync(file, 'old')
      const child = spawn(process.execPath, [CLI, 'export', '--tenant', 'large', file], {
        env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      })
      let stderr = ''
      child.stderr.on('data', (chunk) => (stderr += String(chunk)))
      const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
      while (parts().length === 0 && child.exitCode === null) await setTimeout(5)
      child.kill(signal)
      return [await ended, stderr]
    }
    let [code, stderr] = await stop()
    // On a busy machine an export may be over before the signal comes.
    for (let n = 0; n < 5 && code === 0; n++) [code, stderr] = await stop()
    expect([code, stderr]).toEqual([status, 'stopped: the export was not written\n'])
    expect(parts()).toEqual([])
    expect(readFileSync(file, 'utf8')).toBe('old')
  })
})
