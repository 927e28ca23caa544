import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type { Page } from 'playwright-core'

import { enter, tabTo } from './console.ts'
import { findProgram } from './programs.ts'

interface Language {
  program: string | undefined
  args: readonly string[]
  /** The file that holds the snippet, and the one that is run and uses it. */
  snippet: string
  main: string
}

/** What runs the console's snippets, by the names of their tabs. */
const LANGUAGES = {
  Node: { program: process.execPath, args: ['main.mjs'], snippet: 'snippet.mjs', main: 'main.mjs' },
  Python: { program: findProgram('python3'), args: ['main.py'], snippet: 'snippet.py', main: 'main.py' },
  PHP: { program: findProgram('php'), args: ['main.php'], snippet: 'snippet.php', main: 'main.php' },
  Go: { program: findProgram('go'), args: ['run', '.'], snippet: 'snippet.go', main: 'main.go' },
} as const satisfies Record<string, Language>

export type LanguageName = keyof typeof LANGUAGES

const NAMES = Object.keys(LANGUAGES) as LanguageName[]

export const languagesHere = NAMES.filter((name) => LANGUAGES[name].program !== undefined)

/** Suffix of the name of a test that runs snippets. */
export const languagesMissing = NAMES.filter((name) => !languagesHere.includes(name))
  .map((name) => ` (${name} skipped: it is not here)`)
  .join('')

/** The snippets of a page, by the keyboard alone, as their buttons copy them. */
export async function copySnippets(page: Page): Promise<Record<LanguageName, string>> {
  const copied: [LanguageName, string][] = []
  for (const name of NAMES) {
    await tabTo(page.getByRole('tab', { selected: true }))
    while ((await page.getByRole('tab', { name, exact: true }).getAttribute('aria-selected')) !== 'true')
      await page.keyboard.press('ArrowRight')
    await enter(page.getByRole('button', { name: `Copy the ${name} code` }))
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    copied.push([name, await page.evaluate('navigator.clipboard.readText()')])
  }
  return Object.fromEntries(copied) as Record<LanguageName, string>
}

/** What `main` prints that uses the snippet. It finds `files` beside it. */
export async function runSnippet(
  name: LanguageName,
  { snippet, main, env = {}, files = {} }: SnippetRun,
): Promise<string> {
  const language = LANGUAGES[name]
  if (language.program === undefined) throw new Error(`there is no ${name} here`)
  const folder = mkdtempSync(join(tmpdir(), 'snippet-'))
  try {
    const ofProgram = name === 'Go' ? { 'go.mod': 'module snippet\n\ngo 1.19\n' } : {}
    const all = { ...files, ...ofProgram, [language.main]: main }
    const inMain = name === 'Go' ? snippet.replace(/^package \w+/, 'package main') : snippet
    for (const [file, text] of Object.entries({ ...all, [language.snippet]: inMain }))
      writeFileSync(join(folder, file), text)
    const options = { cwd: folder, env: { ...process.env, ...env }, timeout: 60_000 }
    return (await promisify(execFile)(language.program, [...language.args], options)).stdout
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface SnippetRun {
  snippet: string
  main: string
  env?: Readonly<Record<string, string>>
  files?: Readonly<Record<string, string>>
}
