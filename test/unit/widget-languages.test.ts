import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { strings as history } from '../../src/clients/widget/strings/history.ts'
import { en, type Strings } from '../../src/clients/widget/strings/strings.ts'
import { loadStrings, setStrings, wordsFor } from '../../src/clients/widget/words.ts'
import { type Text, strings as writing } from '../../src/clients/widget/strings/writing.ts'
import { ROOT } from '../../src/core/process/root.ts'

const FOLDER = join(ROOT, 'src/clients/widget/languages')
const LANGUAGES = readdirSync(FOLDER).map((file) => file.slice(0, -'.ts'.length))
const english: Record<string, Text> = { ...en, ...writing, ...history }
/** The accessible names of buttons that show the number. */
const LABELS = ['newReplies', 'showReplies', 'unread']

const formsOf = (text: Text): [string, string][] => (typeof text === 'string' ? [['', text]] : Object.entries(text))
const textOf = (text: Text): string => (typeof text === 'string' ? text : (text.other ?? ''))
const placeholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).toSorted()
const wordsIn = (text: string): string[] => text.toLowerCase().split(/[\s:：]+/)

const read = async (language: string): Promise<Strings> =>
  ((await import(join(FOLDER, `${language}.ts`))) as { strings: Strings }).strings

test('the widget speaks ten languages', () => {
  expect(['en', ...LANGUAGES].toSorted()).toEqual(['ar', 'de', 'en', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt'])
})

describe.each(LANGUAGES)('the texts in %s', (language) => {
  test('have the keys and placeholders of English, and each plural form of the language', async () => {
    const strings = await read(language)
    expect(Object.keys(strings).toSorted()).toEqual(Object.keys(english).toSorted())
    const plural = new Intl.PluralRules(language)
    const { pluralCategories } = plural.resolvedOptions()
    const selected = Array.from({ length: 200 }, (_, n) => plural.select(n))
    /** Whether the form is of a single number, which it may say in words. */
    const isOfOne = (form: string): boolean => selected.filter((one) => one === form).length === 1
    for (const [key, text] of Object.entries(english)) {
      const own = formsOf(strings[key as keyof Strings])
      if (typeof text === 'string') expect([key, own.map(([form]) => form)]).toEqual([key, ['']])
      else
        for (const form of pluralCategories.filter((one) => one !== 'zero'))
          expect([key, own.map(([one]) => one)]).toEqual([key, expect.arrayContaining([form])])
      const wanted = placeholders(String(formsOf(text)[0]?.[1]))
      for (const [form, one] of own) {
        const mayLack = form === 'zero' || (isOfOne(form) && !LABELS.includes(key))
        const found = placeholders(one)
        expect([key, form, mayLack && found.length === 0 ? wanted : found]).toEqual([key, form, wanted])
      }
    }
  })

  // Both for people who say what they see, and for axe-core, which compares whole words.
  test('name each button by what it shows', async () => {
    const strings = await read(language)
    expect(wordsIn(textOf(strings.writeReply))).toContain(textOf(strings.reply).toLowerCase())
    for (const key of LABELS)
      for (const [form, text] of formsOf(strings[key as keyof Strings]))
        if (form !== 'zero') expect([key, form, wordsIn(text)]).toEqual([key, form, expect.arrayContaining(['{n}'])])
  })

  test('are those of its regions, whose numbers and dates Intl knows', async () => {
    await loadStrings(`${language.toUpperCase()}-x-region`)
    const words = wordsFor(`${language}-001`)
    expect(words.lang).toBe(`${language}-001`)
    expect(words.text('title')).toBe((await read(language)).title)
  })
})

test('each count has its plural form', async () => {
  await loadStrings('pl')
  const { text } = wordsFor('pl-PL')
  expect([0, 1, 3, 5, 22, 25].map((n) => text('comments', { n }))).toEqual([
    '0 komentarzy',
    '1 komentarz',
    '3 komentarze',
    '5 komentarzy',
    '22 komentarze',
    '25 komentarzy',
  ])
})

test("a page's own texts replace some of a language, of all regions or of one, whenever they come", async () => {
  setStrings('nl', { title: 'Uw mening' })
  setStrings('nl-BE', { more: 'Nog meer reacties' })
  await loadStrings('nl')
  const [all, region] = [wordsFor('nl'), wordsFor('nl-BE')]
  expect([all.text('title'), all.text('more'), all.text('reply')]).toEqual(['Uw mening', 'Meer reacties', 'Antwoorden'])
  expect([region.text('title'), region.text('more'), region.text('reply')]).toEqual([
    'Uw mening',
    'Nog meer reacties',
    'Antwoorden',
  ])
})

test('a language without texts is English, and one of the page is English where it has none', async () => {
  await loadStrings('xx')
  expect([wordsFor('xx').lang, wordsFor('xx').text('title')]).toEqual(['en', 'Comments'])
  setStrings('sv', { title: 'Kommentarer' })
  expect([wordsFor('sv-FI').lang, wordsFor('sv-FI').text('title'), wordsFor('sv').text('reply')]).toEqual([
    'sv-FI',
    'Kommentarer',
    'Reply',
  ])
})
