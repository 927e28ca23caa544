import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { findInExamples } from './examples.ts'
import { ROOT } from './markdown.ts'

/** What a linter says of the schema. */
export interface Finding {
  rule: string
  message: string
  line: number
}

/** What our schema does otherwise. `because` is a sentence of docs/reference/choices/graphql.md. */
interface Exception {
  rules: readonly string[]
  /** Of which messages; all of the rules without it. */
  about?: RegExp
  because: string
}

/** Every rule of both linters holds but for these. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    rules: ['enum-values-all-caps', 'naming-convention'],
    about: /^(Enum value "|The enum value `)/,
    because: 'The values of enums are in lower case, the same as in the JSON of REST.',
  },
  {
    rules: [
      'alphabetize',
      'fields-are-camel-cased',
      'naming-convention',
      'require-nullable-result-in-root',
      'types-are-capitalized',
    ],
    about: /\b_(entities|service|Any|Entity|Service)\b|^Leading underscores/,
    because: '`_entities`, `_service` and their types are as Federation specifies them.',
  },
  {
    rules: ['strict-id-in-types', 'relay-edge-types'],
    about: /^(type "\w+" must have|Edge type's field `node` must implement)/,
    because: 'A type has a field `id` only if `node` finds it by that id; lists may have entries without one.',
  },
  {
    rules: ['relay-edge-types'],
    about: /^A list type should only wrap an edge type/,
    because: 'A list that is short or comes whole is a plain list, and connections have `nodes` beside their `edges`.',
  },
  {
    rules: ['no-typename-prefix'],
    about: /"(bannedAt|documentId|reactionCounts)"/,
    because: '`bannedAt`, `documentId` and `reactionCounts` have the names that they have in REST.',
  },
  {
    rules: ['alphabetize'],
    about: /"discussions" should be before field "discussionState"/,
    because:
      'Fields are sorted as `lexicographicSortSchema` of graphql-js does it: capitals come before small letters.',
  },
  {
    rules: ['no-root-type'],
    because: 'There are mutations and subscriptions.',
  },
  {
    rules: ['require-field-of-type-query-in-mutation-result'],
    because: 'The answer to a mutation has what a cache must change, and no field of type `Query`.',
  },
]

/** Where the modules of the linters are; undefined unless they are installed. */
const LINTER = findInExamples('graphql-schema-linter/lib/cli.js')
const ESLINT = findInExamples('eslint')
const PLUGIN = findInExamples('@graphql-eslint/eslint-plugin')

export const hasLinters = LINTER !== undefined && ESLINT !== undefined && PLUGIN !== undefined

const SCHEMA = join(ROOT, 'schema.graphql')

/** All rules of graphql-schema-linter, which has its own order of fields: none is asked for. */
export function runSchemaLinter(): Finding[] {
  const { stdout, stderr } = spawnSync(process.execPath, [LINTER ?? '', '--format', 'json', SCHEMA], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (stdout === '') throw new Error(`graphql-schema-linter: ${stderr}`)
  const { errors } = JSON.parse(stdout) as { errors: { rule: string; message: string; location: { line: number } }[] }
  return errors.map(({ rule, message, location }) => ({ rule, message, line: location.line }))
}

interface Eslint {
  ESLint: new (options: object) => {
    lintFiles(files: string[]): Promise<{ messages: { ruleId: string | null; message: string; line: number }[] }[]>
  }
}

interface Plugin {
  default: { parser: object; configs: Record<`flat/schema-${'all' | 'relay'}`, { rules: Record<string, unknown> }> }
}

/** All rules of @graphql-eslint for schemas, and its rules for Relay. */
export async function runEslint(): Promise<Finding[]> {
  const { ESLint } = await load<Eslint>(ESLINT)
  const { default: plugin } = await load<Plugin>(PLUGIN)
  const eslint = new ESLint({
    cwd: ROOT,
    overrideConfigFile: true,
    overrideConfig: {
      files: ['schema.graphql'],
      languageOptions: { parser: plugin.parser, parserOptions: { graphQLConfig: { schema: SCHEMA } } },
      plugins: { '@graphql-eslint': plugin },
      rules: {
        ...plugin.configs['flat/schema-all'].rules,
        ...plugin.configs['flat/schema-relay'].rules,
        // schema.graphql is sorted by name alone.
        '@graphql-eslint/alphabetize': ['error', SORTED],
      },
    },
  })
  const results = await eslint.lintFiles(['schema.graphql'])
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line }) => ({
      rule: (ruleId ?? '').replace('@graphql-eslint/', ''),
      message,
      line,
    })),
  )
}

const SORTED = {
  definitions: true,
  fields: ['ObjectTypeDefinition', 'InterfaceTypeDefinition', 'InputObjectTypeDefinition'],
  values: true,
  arguments: ['FieldDefinition', 'DirectiveDefinition'],
}

const load = async <Module>(file = ''): Promise<Module> => (await import(pathToFileURL(file).href)) as Module
