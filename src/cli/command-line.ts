import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { parseArgs } from 'node:util'

import { z } from 'zod'

import { programName } from './stop.ts'

/** The program's name as the caller has typed it. */
const PROGRAM = programName() === 'cli.js' ? 'npm run cli --' : 'engagement-service'

/**
 * The command line itself is wrong: one line names the mistake, a second one the correct usage. The
 * exit status is 2.
 */
export class UsageError extends Error {
  constructor(what: string, right: string) {
    super(`${what}\n${right}`)
  }
}

export interface Command {
  readonly about: string
  /** Its options. Boolean ones have no value. */
  readonly shape: z.ZodRawShape
  /** Positional options, given without their names. */
  readonly places: readonly string[]
  /** The action for these options, or what is wrong with one of them. */
  readonly prepare: (given: Readonly<Record<string, string | true>>) => (() => Promise<string>) | z.core.$ZodIssue
}

/** Commands by their names of one or two words: `tenant create`. */
type Commands = Readonly<Record<string, Command>>

/**
 * A command that prints the result of `run`. `about` describes it; the metadata of an option is the
 * name of its value, and may contain an `about` as well.
 */
export function defineCommand<Shape extends z.ZodRawShape>(
  about: string,
  shape: Shape,
  run: (options: z.output<z.ZodObject<Shape>>) => Promise<string>,
  places: readonly (keyof Shape & string)[] = [],
): Command {
  const schema = z.object(shape)
  return {
    about,
    shape,
    places,
    prepare: (given) => {
      const options = schema.safeParse(given)
      if (options.success) return () => run(options.data)
      const [issue] = options.error.issues
      if (issue === undefined) throw options.error
      return issue
    },
  }
}

/** What a command line requests: to run a command, or a help text. Throws UsageError. */
export function readCommandLine(commands: Commands, words: readonly string[]): () => Promise<string> {
  try {
    return commandOf(commands, words)
  } catch (error) {
    const taken = error instanceof UsageError ? takenByNpm(commands) : undefined
    if (taken === undefined) throw error
    throw new UsageError(`npm has taken --${taken} for itself`, 'Write -- before the command: npm run cli -- help')
  }
}

/** An option of a command that npm has taken: npm keeps it in the environment. */
function takenByNpm(commands: Commands): string | undefined {
  const { env } = process
  if (env.npm_lifecycle_event !== 'cli') return undefined
  const options = Object.values(commands).flatMap(({ shape }) => Object.keys(shape))
  return options.find((option) => (env[`npm_config_${option.replaceAll('-', '_')}`] ?? '') !== '')
}

function commandOf(commands: Commands, words: readonly string[]): () => Promise<string> {
  const [first = ''] = words
  const asked = first === 'help' ? words.slice(1) : ['--version', '-v'].includes(first) ? ['version'] : words
  const named = asked.filter((word) => word !== '--help' && word !== '-h')
  const helps = named.length < words.length
  const name = [2, 1].map((count) => named.slice(0, count).join(' ')).find((text) => Object.hasOwn(commands, text))
  const command = name === undefined ? undefined : commands[name]
  if (name === undefined || command === undefined) {
    if (helps && isBeginning(commands, named)) return async () => helpOfAll(commands, named)
    throw new UsageError(missing(commands, named), namesOf(nearTo(commands, named[0])))
  }
  if (helps) return async () => `${usageOf(name, command)}\n\n${command.about}${optionsInWords(command)}`
  const rest = named.slice(name.split(' ').length)
  expectFile(commands, name, rest[0])
  return prepare(name, command, rest)
}

function missing(commands: Commands, named: readonly string[]): string {
  const [noun, verb] = named
  if (noun === undefined) return 'a command is missing'
  // An option may come before the rest of the command.
  const isAlone = verb === undefined || verb.startsWith('-')
  if (!isAlone || !isBeginning(commands, [noun])) return `there is no command ${named.slice(0, 2).join(' ')}`
  const verbs = nearTo(commands, noun).map((name) => name.slice(noun.length + 1))
  return `${noun} needs one of: ${verbs.join(', ')}`
}

/** The commands that begin with this word; without any, the first words of all. */
function nearTo(commands: Commands, word = ''): readonly string[] {
  const names = Object.keys(commands)
  const near = names.filter((each) => each === word || each.startsWith(`${word} `))
  return near.length > 0 ? near : [...new Set(names.map((each) => each.split(' ', 1).join('')))]
}

const namesOf = (names: readonly string[]): string => `Commands: ${names.join(', ')}. ${PROGRAM} help describes them`

/**
 * Throws UsageError for a word after `import` that is neither a file nor the rest of `import list`.
 */
function expectFile(commands: Commands, name: string, word = '-'): void {
  const near = Object.keys(commands).filter((other) => other.startsWith(`${name} `))
  if (near.length === 0 || /^(-|$)|[./\\]/.test(word) || existsSync(fromCaller(word))) return
  throw new UsageError(`there is no command ${name} ${word}, and no file ${word}`, namesOf([name, ...near]))
}

/** A file relative to the caller's folder: npm changes to the project's. */
export function fromCaller(file: string): string {
  const { npm_lifecycle_event: script, INIT_CWD: folder } = process.env
  return isAbsolute(file) || script !== 'cli' || folder === undefined ? file : join(folder, file)
}

/** Whether the words are empty, or the first word of some commands. */
const isBeginning = (commands: Commands, words: readonly string[]): boolean =>
  words.length === 0 || (words.length === 1 && Object.keys(commands).some((name) => name.startsWith(`${words[0]} `)))

function helpOfAll(commands: Commands, [noun]: readonly string[]): string {
  const lines = Object.entries(commands)
    .filter(([name]) => noun === undefined || name.startsWith(`${noun} `))
    .map(([name, command]) => `  ${[name, ...optionsOf(command)].join(' ')}\n      ${command.about}`)
  return `Usage: ${PROGRAM} <command>\n\n${lines.join('\n')}

With the embedded database most commands need the service stopped.
Answers are JSON on standard output, with nothing else for \`npm run --silent cli -- …\`. Secrets are shown only there, and only once.
The exit status is 0, 1 for what cannot be done, and 2 for a command line that is wrong.`
}

const usageOf = (name: string, command: Command): string => `Usage: ${[PROGRAM, name, ...optionsOf(command)].join(' ')}`

function optionsOf({ shape, places }: Command): string[] {
  return Object.entries(z.object(shape).shape).map(([name, schema]) => {
    const value = `<${z.globalRegistry.get(schema)?.description ?? name}>`
    const text = places.includes(name) ? value : isFlag(schema) ? `--${name}` : `--${name} ${value}`
    return z.safeParse(schema, undefined).success ? `[${text}]` : text
  })
}

/** The descriptions of its options, a line each, where there are any. */
function optionsInWords({ shape }: Command): string {
  const described = Object.entries(z.object(shape).shape).flatMap(([name, schema]) => {
    const text = z.globalRegistry.get(schema)?.about
    return typeof text === 'string' ? [{ name: `--${name}`, text }] : []
  })
  const width = Math.max(0, ...described.map(({ name }) => name.length))
  const lines = described.map(({ name, text }) => `\n  ${name.padEnd(width)}  ${text}`)
  return lines.length === 0 ? '' : `\n${lines.join('')}`
}

const isFlag = (schema: z.core.$ZodType): boolean =>
  z.safeParse(schema, true).success && !z.safeParse(schema, '').success

function prepare(name: string, command: Command, args: string[]): () => Promise<string> {
  const refuse = (what: string): UsageError => new UsageError(what, usageOf(name, command))
  const { places } = command
  const options = Object.entries(z.object(command.shape).shape).filter(([option]) => !places.includes(option))
  const names = options.map(([option]) => option)
  const flags = new Set(options.flatMap(([option, schema]) => (isFlag(schema) ? [option] : [])))
  const known = Object.fromEntries(
    names.map((option) => [option, { type: flags.has(option) ? ('boolean' as const) : ('string' as const) }]),
  )
  // Not strict, because its errors are paragraphs.
  const { tokens } = parseArgs({ args, options: known, strict: false, allowPositionals: true, tokens: true })
  const given = new Map<string, string | true>()
  for (const token of tokens) {
    if (token.kind === 'positional') {
      const place = places.find((option) => !given.has(option))
      if (place === undefined) {
        const last = places.at(-1)
        const isNone = last === undefined
        throw refuse(
          isNone ? `"${token.value}" is not an option` : `only one <${last}> is taken: "${token.value}" is left over`,
        )
      }
      given.set(place, token.value)
      continue
    }
    if (token.kind === 'option-terminator') continue
    if (!names.includes(token.name)) throw refuse(`there is no option ${token.rawName}`)
    if (given.has(token.name)) throw refuse(`--${token.name} is given twice`)
    if (flags.has(token.name)) {
      if (token.value !== undefined) throw refuse(`--${token.name} takes no value`)
      given.set(token.name, true)
      continue
    }
    // That is the next option; a value that begins with a dash is written --name=-value.
    if (token.value === undefined || (!token.inlineValue && token.value.startsWith('-'))) {
      throw refuse(`--${token.name} needs a value`)
    }
    given.set(token.name, token.value)
  }
  const prepared = command.prepare(Object.fromEntries(given))
  if (typeof prepared === 'function') return prepared
  const option = String(prepared.path[0])
  const label = places.includes(option) ? `<${option}>` : `--${option}`
  throw refuse(`${label} ${given.has(option) ? prepared.message : 'is required'}`)
}
