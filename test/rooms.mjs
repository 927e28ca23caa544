// A rule of the linter: which room of src may import what. docs/architecture.md ("Rooms") says why.
import { join, relative, sep } from 'node:path'

const API = /^(fastify|@fastify|graphql[^/]*|@graphql[^/]*|@pothos)(\/|$)/
const HTTP = /^(fastify|@fastify|got|undici|(node:)?https?|(node:)?http2)(\/|$)/
const DRIVERS = /^(pg|pg-[^/]+|ioredis|cluster-key-slot|@electric-sql|@prisma)(\/|$)/
const NO_PACKAGE = /./
/** The statements of a domain. */
const SQL_FILE = /(^|[/-])sql\.ts$/

/**
 * Each room, and the rooms and single files of src that it may import, beside itself. Of `types` it
 * may import types alone. It may import all packages but those of `not`.
 *
 * @type {Record<string, { imports: string[], types?: string[], not?: RegExp[] }>}
 */
const ROOMS = {
  core: { imports: [], types: ['generated'], not: [API, DRIVERS, /^got(\/|$)/] },
  data: { imports: ['core', 'generated'], not: [API, HTTP] },
  processes: { imports: ['core', 'data'], not: [API, HTTP] },
  // An outlet writes to a response of node:http, and needs no more than its type.
  live: { imports: ['core'], types: ['node:http'], not: [API, HTTP, DRIVERS] },
  graphql: { imports: ['core', 'generated'], not: [HTTP, DRIVERS] },

  operations: { imports: ['core', 'generated', 'live'], not: [API, HTTP, DRIVERS] },
  fields: { imports: ['core', 'generated', 'live', 'graphql', 'operations'], not: [API, HTTP, DRIVERS] },
  // So REST stays a projection of GraphQL.
  routes: { imports: ['graphql/route.ts'], not: [NO_PACKAGE] },

  'api/execution': { imports: ['core', 'live', 'graphql', 'operations', 'fields'], not: [DRIVERS] },
  'api/yoga': { imports: ['core', 'live', 'api/execution'], not: [DRIVERS, HTTP] },
  'api/graphql-sse': {
    imports: ['core', 'live', 'graphql', 'operations', 'api/execution', 'api/yoga'],
    not: [DRIVERS],
  },
  'api/rest': { imports: ['core', 'graphql', 'routes', 'api/execution', 'api/yoga'], not: [DRIVERS, HTTP] },
  'api/reference': { imports: ['core', 'graphql', 'api/execution', 'api/rest'], not: [DRIVERS] },
  'api/http': {
    imports: [
      'core',
      'live',
      'graphql',
      'operations',
      'api/execution',
      'api/yoga',
      'api/graphql-sse',
      'api/rest',
      'api/reference',
      // Sites have the routes of a publisher's backend.
      'clients/backend',
    ],
    not: [DRIVERS],
  },

  // Files of other systems, and the whole of a tenant: they walk through all domains.
  transfer: { imports: ['core', 'generated', 'operations'], not: [API, HTTP, DRIVERS] },

  // Every request to another server.
  outbound: { imports: ['core', 'operations'], not: [API, DRIVERS] },

  worker: {
    imports: ['core', 'operations', 'transfer', 'outbound', 'data/migrations/backfills.ts', 'data/migrations/files.ts'],
    not: [API, DRIVERS],
  },
  console: {
    imports: [
      'core/input/letters.ts',
      'generated/console.ts',
      'generated/settings.json',
      'generated/audit-actions.json',
      'generated/event-labels.json',
    ],
  },
  'clients/backend': { imports: ['../dist/clients/backend/first-page.js'], not: [/^(?!node:)/] },
  'clients/receiver': { imports: [], not: [/^(?!node:)/] },
  'clients/browser': { imports: [], types: ['clients/receiver/events.ts'], not: [NO_PACKAGE] },
  'clients/graphql': {
    imports: ['clients/browser/share.ts'],
    not: [/^(?!(graphql|@apollo\/client|@urql|relay-runtime)(\/|$))/],
  },
  // The widget's views for Node, which the build bundles for the backend.
  'clients/first-page': {
    imports: ['clients/widget'],
    types: ['clients/backend/drawing.ts'],
    not: [/^(?!(lit\/|htmlparser2$))/],
  },
  'clients/elements': { imports: [], types: ['clients/browser/stream.ts'], not: [NO_PACKAGE] },
  'clients/react': { imports: ['clients/elements'], not: [/^(?!react$)/] },
  'clients/vue': { imports: ['clients/elements'], not: [/^(?!vue$)/] },
  'clients/widget': {
    imports: ['clients/browser/stream.ts', 'clients/browser/tabs.ts'],
    types: ['clients/elements/events.ts'],
    not: [/^(?!lit\/|altcha-lib(\/|$))/],
  },
  // The schema, so that commands check documents as requests do.
  cli: { imports: ['core', 'data', 'operations', 'transfer', 'graphql', 'api/execution/schema.ts', 'app.ts'] },

  'app.ts': { imports: ['core', 'data', 'processes', 'live', 'outbound'] },
  'serve.ts': { imports: ['core', 'data', 'processes', 'live', 'operations', 'api/http', 'worker', 'app.ts'] },
  'main.ts': { imports: ['core', 'data', 'processes', 'serve.ts'] },
  'bin.ts': { imports: ['cli', 'main.ts'] },
  build: { imports: ['core', 'data', '../dist/build.js'] },
  // The site of the documentation, which the build writes.
  docs: { imports: ['core/process/root.ts'], not: [API, HTTP, DRIVERS] },
  'vite.config.ts': { imports: [] },
}

/** The room of a file, whose path begins in src: a folder, or the file itself. */
function roomOf(path) {
  const [folder, within] = path.split('/')
  if (path.endsWith('/vite.config.ts')) return 'vite.config.ts'
  if (folder === 'domains') {
    if (path.endsWith('/rest.ts')) return 'routes'
    return /\/graphql(-\w+)?\.ts$/.test(path) ? 'fields' : 'operations'
  }
  return folder === 'api' || folder === 'clients' ? `${folder}/${within}` : folder
}

/** Why the file `from` may not import `source`; null where it may. Paths begin in src. */
function refusalOf(from, source, isType) {
  const room = roomOf(from)
  const rule = ROOMS[room]
  if (rule === undefined) return `src/${from} is in no room.`
  const mayImport = [...rule.imports, ...(isType ? (rule.types ?? []) : [])]
  if (!source.startsWith('.')) {
    const isRefused = !mayImport.includes(source) && rule.not?.some((refused) => refused.test(source))
    return isRefused ? `${room} does not use ${source}.` : null
  }
  const path = join(from, '..', source).replaceAll(sep, '/')
  const [domain, other] = [from, path].map((each) => /^domains\/([\w-]+)\//.exec(each)?.[1])
  const isAbove = room === 'transfer'
  if ((domain !== undefined || isAbove) && other !== undefined && domain !== other && SQL_FILE.test(path)) {
    return "A domain's statements are its own: call an operation of it."
  }
  const to = roomOf(path)
  if (to === room || mayImport.includes(to) || mayImport.includes(path)) return null
  return `${room} does not import src/${path}, but ${mayImport.join(', ') || 'nothing of other rooms'}.`
}

const SRC = join(import.meta.dirname, '../src')

/** Looks at `import`, `export … from`, `import()`, and at `import('…')` in a type. */
const imports = {
  create(context) {
    const from = relative(SRC, context.filename).replaceAll(sep, '/')
    const check = (source, isType) => {
      if (typeof source?.value !== 'string') return
      const message = refusalOf(from, source.value, isType)
      if (message !== null) context.report({ node: source, message })
    }
    const refuse = (node, message) => context.report({ node, message })
    const checkNames = ({ source, specifiers = [], importKind, exportKind }) => {
      const areTypes = specifiers.length > 0 && specifiers.every((each) => each.importKind === 'type')
      check(source, importKind === 'type' || exportKind === 'type' || areTypes)
    }
    const checkExport = (node) => {
      checkNames(node)
      const isStatements = /^(domains|transfer)\//.test(from) && SQL_FILE.test(node.source?.value ?? '')
      if (isStatements && !SQL_FILE.test(from)) refuse(node, "A domain's statements are its own: export an operation.")
    }
    return {
      ImportDeclaration: checkNames,
      ExportNamedDeclaration: checkExport,
      ExportAllDeclaration: checkExport,
      ImportExpression({ source }) {
        if (source.type === 'TemplateLiteral') refuse(source, 'An import names its file in quotes.')
        check(source, false)
      },
      TSImportType: ({ source }) => check(source, true),
      TSImportEqualsDeclaration: ({ moduleReference }) => check(moduleReference.expression, false),
    }
  },
}

export default { meta: { name: 'rooms' }, rules: { imports } }
