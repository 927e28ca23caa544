import { useEffect, useState } from 'react'

import { SettingsDocument, UpdateSettingsDocument } from '../../../generated/console.ts'
import { refusalOf } from '../../api/errors.ts'
import { useWrite } from '../../api/queries.ts'
import { changedPaths, conflicts, type Draft, isSame, patchOf, type Values } from './draft.ts'
import { mistakeIn } from './field.tsx'
import { FIELDS, type Value } from './table.ts'
import { LABELS } from './labels.ts'

/** How long the form says what became of the changes. */
const SAID_MS = 6_000

/** The settings in force, the admin's changes, and their result. */
export function useSettingsForm(values: Values, reload: () => Promise<Values>) {
  const { mutateAsync, isPending } = useWrite(UpdateSettingsDocument, [SettingsDocument])
  const [draft, setDraft] = useState<Draft>({})
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  const [error, setError] = useState<unknown>(null)
  const [said, setSaid] = useState('')
  useEffect(() => {
    if (said === '') return
    const end = setTimeout(() => setSaid(''), SAID_MS)
    return () => clearTimeout(end)
  }, [said])
  const changed = changedPaths(draft, values)
  const valueOf = (path: string): Value => (path in draft ? (draft[path]?.value ?? null) : (values[path] ?? null))

  const change = (path: string, value: Value): void => {
    setSaid('')
    setErrors((before) => without(before, path))
    const base = draft[path]?.base ?? values[path] ?? null
    setDraft((before) =>
      // Back to the value in force: it counts as unchanged, even if another admin changes it
      // later.
      isSame(value, values[path]) && isSame(base, values[path])
        ? without(before, path)
        : { ...before, [path]: { value, base } },
    )
  }
  const takeTheirs = (path: string): void => setDraft((before) => without(before, path))
  const keepMine = (path: string): void =>
    setDraft((before) => ({ ...before, [path]: { value: valueOf(path), base: values[path] ?? null } }))

  const save = async (): Promise<void> => {
    setError(null)
    const mistakes = Object.fromEntries(
      FIELDS.flatMap((field) => {
        const mistake = changed.includes(field.path) ? mistakeIn(field, valueOf(field.path)) : null
        return mistake === null ? [] : [[field.path, mistake]]
      }),
    )
    setErrors(mistakes)
    const [firstMistake] = Object.keys(mistakes)
    if (firstMistake !== undefined) return show(firstMistake)
    try {
      // Fetched at the last moment, so that changes of other admins are shown, not overwritten.
      const now = await reload()
      const [firstConflict] = conflicts(draft, now)
      if (firstConflict !== undefined) return show(firstConflict)
      await mutateAsync({ input: patchOf(draft, now) })
      setDraft({})
      setSaid('Saved.')
    } catch (refusal) {
      const { fields, rest } = refusalOf(refusal, LABELS)
      setErrors(fields)
      setError(rest)
      const first = FIELDS.find(({ path }) => path in fields)
      if (first !== undefined) show(first.path)
    }
  }
  const discard = (): void => {
    setDraft({})
    setErrors({})
    setError(null)
    setSaid('Discarded.')
  }
  return {
    valueOf,
    changed,
    conflicts: conflicts(draft, values),
    errors,
    error,
    said,
    isSaving: isPending,
    change,
    takeTheirs,
    keepMine,
    save,
    discard,
  }
}

function without<T>(record: Readonly<Record<string, T>>, path: string): Readonly<Record<string, T>> {
  const { [path]: _gone, ...rest } = record
  return rest
}

/** Scrolls to a setting, and focuses its control. */
function show(path: string): void {
  // After the message beside it has been drawn.
  requestAnimationFrame(() => {
    const field = document.getElementById(path)
    field?.scrollIntoView({ block: 'center' })
    field?.querySelector<HTMLElement>('input, textarea, button')?.focus({ preventScroll: true })
  })
}
