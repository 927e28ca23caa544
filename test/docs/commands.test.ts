import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

import { describe, expect, test } from 'vitest'
import { parse, parseDocument } from 'yaml'

import { type Page, readPages, ROOT } from '../harness/markdown.ts'

// Commands that no test runs, for they need Docker, Kubernetes, systemd or a person, and the names
// in prose: all that they name must be there.

const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8')
const pages = readPages()

const blocksOf = (language: string) =>
  pages.flatMap(({ path, blocks }) =>
    blocks
      .filter((block) => block.language === language)
      .map(({ line, content }) => [`${path}:${line}`, content] as const),
  )

const LANGUAGES = 'sh js ts tsx vue html css python go kotlin swift json jsonl csv yaml graphql http nginx text'.split(
  ' ',
)

test('every code block says its language', () => {
  const unknown = pages.flatMap(({ path, blocks }) =>
    blocks.filter(({ language }) => !LANGUAGES.includes(language)).map(({ line }) => `${path}:${line}`),
  )
  expect(unknown).toEqual([])
})

test.each(blocksOf('yaml'))('%s is YAML', (_place, content) => expect(() => parse(content) as unknown).not.toThrow())

test.each(blocksOf('jsonl'))('%s is JSON, line by line', (_place, content) => {
  for (const line of content.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow()
})

test.each(blocksOf('sh'))('%s has no placeholder that a shell takes for a redirection', (_place, content) => {
  const commands = content.replace(/<<'?(\w+)'?\n[^]*?^\1$/gm, '').replace(/'[^']*'|"[^"]*"/g, '')
  expect(commands).not.toMatch(/<[a-z]/)
})

/** The commands of a block, each as its words, without comments and without what a `<<` feeds. */
const commandsIn = (block: string): string[][] =>
  block
    .replace(/\\\n\s*/g, ' ')
    .replace(/<<(\w+)\n[^]*?^\1$/gm, '')
    .replace(/(^|\s)#\s.*$/gm, '')
    .split(/\n|&&|\||;|\$\(|&$/m)
    .map((line) => line.match(/(?:"[^"]*"|'[^']*'|<[^>]*>|[^\s"'<])+/g) ?? [])
    .filter((words) => words.length > 0)

describe('commands of the service', () => {
  interface Option {
    isRequired: boolean
    /** What its value may be; empty where it has none, and null where it may be anything. */
    values: readonly string[] | null
  }
  interface Usage {
    options: ReadonlyMap<string, Option>
    places: number
  }

  /** The commands by their names, read from `help`, which is made from their definitions. */
  const help = execFileSync(process.execPath, [join(ROOT, 'dist/cli/cli.js'), 'help'], { encoding: 'utf8' })
  const usages = new Map(
    [...help.matchAll(/^ {2}([a-z-]+(?: [a-z][a-z-]*)?)( [-<[].*)?$/gm)].map(([, name = '', rest = '']) => {
      const options = [...rest.matchAll(/(\[?)--([a-z-]+)(?: <([^>]*)>)?/g)].map(
        ([, bracket, option = '', value]): [string, Option] => [
          option,
          {
            isRequired: bracket === '',
            values: value === undefined ? [] : value.includes('|') ? value.split('|') : null,
          },
        ],
      )
      const places = rest.replace(/--[a-z-]+ <[^>]*>/g, '').match(/<[^>]*>/g)?.length ?? 0
      return [name, { options: new Map(options), places } satisfies Usage] as const
    }),
  )

  /** What is wrong with the words after the program; undefined where nothing is. */
  function wrongWith(words: readonly string[], isWhole: boolean): string | undefined {
    if (['help', '--version'].includes(words[0] ?? '')) return undefined
    const name = [2, 1].map((count) => words.slice(0, count).join(' ')).find((text) => usages.has(text))
    const usage = usages.get(name ?? '')
    if (name === undefined || usage === undefined) return `there is no command ${words.join(' ')}`
    const rest = words.slice(name.split(' ').length)
    const given = new Set<string>()
    let places = 0
    for (let n = 0; n < rest.length; n++) {
      const word = rest[n] ?? ''
      if (!word.startsWith('--')) {
        places++
        continue
      }
      if (word === '--help') return undefined
      const option = usage.options.get(word.slice(2))
      if (option === undefined) return `${name} has no option ${word}`
      given.add(word.slice(2))
      if (option.values?.length === 0) continue
      const value = rest[++n]
      if (value === undefined) return `${name} ${word} needs a value`
      if (option.values !== null && !option.values.includes(value)) return `${name} ${word} is not ${value}`
    }
    if (places > usage.places) return `${name} takes ${usage.places} words without a name, not ${places}`
    const missing = [...usage.options].flatMap(([option, { isRequired }]) =>
      isRequired && !given.has(option) ? [option] : [],
    )
    return isWhole && missing.length > 0 ? `${name} needs --${missing.join(', --')}` : undefined
  }

  /** The words after the program, where a command calls it; else undefined. */
  function afterProgram(words: readonly string[]): string[] | undefined {
    const text = words.join(' ')
    const [, rest] =
      /\bnpm run (?:--silent )?cli -- (.*)/.exec(text) ??
      /(?:^|\bdocker (?:compose )?exec \w+ )engagement-service (.*)/.exec(text) ??
      /\/dist\/bin\.js (.*)/.exec(text) ??
      []
    const kept = rest?.replace(/\s[<>]+\s*\S+/g, '')
    return kept?.match(/(?:"[^"]*"|\S)+/g) ?? undefined
  }

  test('are known by their usage, and what is wrong with one is found', () => {
    expect(usages.size).toBeGreaterThan(15)
    const wrong = (text: string) => wrongWith(text.split(' '), true)
    expect(wrong('import --tenant demo --from isso copy.db --dry-run')).toBeUndefined()
    expect(wrong('tenant drop --slug demo')).toBe('there is no command tenant drop --slug demo')
    expect(wrong('import --tenant demo --from isso copy.db --dry')).toBe('import has no option --dry')
    expect(wrong('import --tenant demo --from issue copy.db')).toBe('import --from is not issue')
    expect(wrong('import --tenant demo --from isso copy.db more')).toBe('import takes 1 words without a name, not 2')
    expect(wrong('export demo.jsonl')).toBe('export needs --tenant')
  })

  test.each([
    ['moving', 'from'],
    ['moving-pages', 'page'],
  ])('a table of %s.md has each value of --%s of an import', (guide, option) => {
    const { text = '' } = pages.find(({ path }) => path === `docs/guides/${guide}.md`) ?? {}
    const [, table = ''] = new RegExp(`^\\| \`--${option}\` .*\\n.*\\n((?:\\|.*\\n)+)`, 'm').exec(text) ?? []
    const told = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, value]) => value)
    expect(new Set(told)).toEqual(new Set(usages.get('import')?.options.get(option)?.values))
  })

  const all = pages.flatMap(({ path, blocks, codes }) => [
    ...blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ line, content }) => commandsIn(content).map((words) => [`${path}:${line}`, words, true] as const)),
    ...codes.map((code) => [path, code.split(' '), false] as const),
  ])
  const called = all.flatMap(([place, words, isWhole]) => {
    const args = afterProgram(words)
    return args === undefined ? [] : [[place, args.join(' '), isWhole] as const]
  })

  test('are found in the pages', () => expect(called.length).toBeGreaterThan(30))

  test.each(called)('%s: %s', (_place, text, isWhole) => {
    expect(wrongWith(text.split(' '), isWhole)).toBeUndefined()
  })
})

test.each(blocksOf('sh').filter(([, content]) => content.includes('tenant delete')))(
  '%s deletes a tenant that it has suspended, and not resumed',
  (_place, content) => {
    const suspended = new Set<string>()
    const refused: string[] = []
    for (const [, verb, slug = ''] of content.matchAll(/\btenant (suspend|resume|delete) --tenant (\w+)/g)) {
      if (verb === 'suspend') suspended.add(slug)
      else if (!suspended.delete(slug) && verb === 'delete') refused.push(slug)
    }
    expect(refused).toEqual([])
  },
)

describe('scripts of the package', () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'))
  const texts = pages.flatMap(({ path, blocks, codes }) => [
    ...blocks.filter(({ language }) => language === 'sh').map(({ content }) => [path, content] as const),
    ...codes.map((code) => [path, code] as const),
  ])

  test('that the pages run are there', () => {
    const names = texts.flatMap(([, text]) =>
      [...text.matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)].map(([, name = '']) => name),
    )
    expect(names.length).toBeGreaterThan(40)
    expect(names.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })

  test('are given names of benches and of tests that are there', () => {
    const benches = texts.flatMap(([, text]) =>
      [...text.matchAll(/\bnpm run bench -- ([a-z-]+)/g)].map(([, name = '']) => name),
    )
    const table = read('test/bench/bench.ts')
    expect(benches.filter((name) => !new RegExp(`^  '?${name}'?[:,]`, 'm').test(table))).toEqual([])
    const tests = texts.flatMap(([, text]) =>
      [...text.matchAll(/\bnpm (?:test|run test:\w+) -- ([\w/ -]+)/g)].flatMap(([, names = '']) => names.split(' ')),
    )
    expect(tests.length).toBeGreaterThan(1)
    expect(tests.filter((name) => !files.some((file) => file.includes(name)))).toEqual([])
  })
})

const isFile = (name: string): boolean => statSync(join(ROOT, name)).isFile()
const files = [
  ...readdirSync(ROOT).filter(isFile),
  ...['.ci', 'deploy', 'docs', 'prisma', 'src', 'test', 'vectors'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter(isFile),
  ),
]

describe('variables', () => {
  /** Those of the environment by which somebody configures the service. */
  const documented = new Set(read('docs/reference/environment.md').match(/\b[A-Z][A-Z0-9_]+\b/g))
  const ofImage = new Set([...read('Dockerfile').matchAll(/^ARG (\w+)/gm)].map(([, name]) => name))
  const shell = pages.flatMap(({ blocks }) => blocks.filter(({ language }) => language === 'sh'))
  const used = new Set(shell.flatMap(({ content }) => content.match(/(?<=\$\{?)[A-Z][A-Z0-9_]+/g) ?? []))
  const ofTests = new Set(['BENCH_SIZE', 'CONTAINER_ENGINE', 'MIGRATION_COMMENTS'])
  /** Those of the backends that the guides show. */
  const ofBackends = /^(ENGAGEMENT|RECEIVER|SITE)_/

  test.each(blocksOf('sh'))('that %s sets are known', (_place, content) => {
    const names = [...content.matchAll(/(?:^|[\s="])([A-Z][A-Z0-9_]+)=/gm)].map(([, name = '']) => name)
    const isKnown = (name: string): boolean =>
      [documented, ofImage, used, ofTests].some((known) => known.has(name)) || ofBackends.test(name)
    expect(names.filter((name) => !isKnown(name))).toEqual([])
  })
})

describe('files, services and values', () => {
  const { services }: { services: object } = parse(read('compose.yaml'), { merge: true })
  const values = parseDocument(read('deploy/helm/engagement-service/values.yaml'))

  test.each(blocksOf('sh'))('that %s names are there', (_place, content) => {
    const missing: string[] = []
    for (const words of commandsIn(content)) {
      const text = words.join(' ')
      for (const [path] of text.matchAll(/(?<![\w/.-])(deploy|test|src|docs|vectors)\/[\w@./-]+/g)) {
        if (!files.some((file) => file.startsWith(path))) missing.push(path)
      }
      // What the build makes of a source.
      for (const [, path = ''] of text.matchAll(/\bdist\/([\w/-]+)\.js\b/g)) {
        if (!existsSync(join(ROOT, `src/${path}.ts`))) missing.push(`dist/${path}.js`)
      }
      if (words[0] === 'docker' && words[1] === 'compose') {
        const named = words.slice(3).filter((word) => !word.startsWith('-'))
        const asked = words[2] === 'exec' ? named.slice(0, 1) : named
        missing.push(...asked.filter((name) => !Object.hasOwn(services, name)))
      }
      if (words[0] === 'helm') {
        for (const [, path = ''] of text.matchAll(/--set ([\w.]+)=/g))
          if (!values.hasIn(path.split('.'))) missing.push(path)
      }
    }
    expect(missing).toEqual([])
  })
})

describe('names in prose', () => {
  const words = new Set(
    files
      .filter((file) => /\.(ts|tsx|mjs|prisma|sql|graphql|yaml|conf|sh|service)$|^Dockerfile|package\.json/.test(file))
      .flatMap((file) => read(file).match(/[A-Za-z_$][\w$]*/g) ?? []),
  )
  const names = new Set(files.map((file) => basename(file)))
  /** Names of other programs, of files that somebody makes, and one that is put together. */
  const FOREIGN = new Set([
    'NODE_COMPILE_CACHE',
    // Of Supabase.
    'user_metadata',
    'mapMaybePromise',
    // Hooks of Envelop that no plugin of ours has, and a function that it calls.
    'iterateAsync',
    'onContextBuilding',
    'onEnveloped',
    'uuidString',
    // `npm run test:full` writes it.
    'test-full.json',
    // Former names in GraphQL.
    'CommentReactionsConnection',
    'CommentRepliesConnection',
    'CommentReportsConnection',
    'DiscussionCommentsConnection',
    'DiscussionCommentsConnectionEdge',
    'issuer.mjs',
    'QueryAuditLogConnection',
    'QueryCommentReportsConnection',
    'ReaderRecordCommentsConnection',
    'ViewerBan',
    'ADMIN_PASSWD',
    'Comments.tsx',
    'SYSTEM_WITHHELD',
    'SchemaConfiguration',
    'backfill.sql',
    'comment_author_IP',
    'hsCtaTracking',
    'createApiKeyAsAdmin',
    'disqus_identifier',
    'CombinedGraphQLErrors',
    'RetryLink',
    'ipAddress',
    'optimisticResponse',
    'optimisticUpdater',
    'persisted-documents.json',
    'persistedDocuments',
    'persistedExchange',
    'pg_read_all_stats',
    'prismaConnection',
    'prismaField',
    'prometheus_prefix',
    'relationJoins',
    'relay.config.json',
    'rule_files',
    'server.mjs',
    'voted_ips',
  ])

  function isMissing(code: string): boolean {
    if (/^(src|test|docs|deploy|prisma|vectors)\/[\w@./-]+$/.test(code)) {
      return !files.some(
        (file) => file === code || file.startsWith(`${code.replace(/\/$/, '')}/`) || isTest(file, code),
      )
    }
    // As the table of faults names tests.
    if (/^(browser|cluster|contract|faults|main|models|programs|scale|timing|unit)\/[\w-]+$/.test(code))
      return !files.includes(`test/${code}.test.ts`)
    if (/^[\w.-]+\.(ts|tsx|graphql|sql|json|yaml|conf|sh|mjs)$/.test(code)) return !names.has(code)
    // Such as `STREAM_REPAIR_SECONDS`, `verbNoun()`, `import_items`, `StatementOf`.
    const isName = /^(?=.*[a-z][A-Z]|.*\w_\w)[A-Za-z]\w*(\(\))?$/.test(code)
    return isName && !words.has(code.replace('()', ''))
  }
  const isTest = (file: string, code: string): boolean => [`${code}.test.ts`, `${code}.ts`].includes(file)

  // The changelog names what was, too. The pages of REST are made from the OpenAPI document.
  const isOurs = ({ path }: Page): boolean => path !== 'CHANGELOG.md' && !path.startsWith('docs/reference/rest/')
  test.each(pages.filter(isOurs).map((page) => [page.path, page] as const))(
    'of %s stand for what is there',
    (_path, { codes }: Page) => {
      const missing = codes.filter((code) => !FOREIGN.has(code) && isMissing(code))
      expect(missing, 'name what is there; names of other programs belong in FOREIGN').toEqual([])
    },
  )
})
