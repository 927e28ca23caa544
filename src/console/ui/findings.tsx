import { List, Text, ThemeIcon, VisuallyHidden } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'

import { IconAlertTriangle, IconCheck } from './icons.tsx'
import { Problem } from './states.tsx'
import { WRITTEN } from './written.ts'

/** What a test has found. */
export interface Finding {
  isGood: boolean
  text: string
}

const Findings = ({ findings }: { findings: readonly Finding[] }) => (
  <List spacing="xs" center size="sm">
    {findings.map(({ isGood, text }) => (
      <List.Item
        key={text}
        icon={
          <ThemeIcon size={24} radius="xl" variant="light" color={isGood ? 'green' : 'red'}>
            {isGood ? <IconCheck size={14} aria-hidden /> : <IconAlertTriangle size={14} aria-hidden />}
          </ThemeIcon>
        }
      >
        <Text size="sm" {...WRITTEN}>
          <VisuallyHidden>{isGood ? 'Good: ' : 'To do: '}</VisuallyHidden>
          {text}
        </Text>
      </List.Item>
    ))}
  </List>
)

interface TestForm {
  onSubmit: (event: FormEvent) => void
  isBusy: boolean
  /** What the last test has found, or why there was none. */
  outcome: ReactNode
}

/** The state of a form that has something tested. */
export function useTestForm(test: () => Promise<readonly Finding[]>): TestForm {
  const [findings, setFindings] = useState<readonly Finding[] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const run = async (): Promise<void> => {
    setBusy(true)
    setError(null)
    setFindings(null)
    try {
      setFindings(await test())
    } catch (refusal) {
      setError(refusal)
    }
    setBusy(false)
  }
  const outcome = (
    <>
      <div aria-live="polite">{findings !== null && <Findings findings={findings} />}</div>
      {error !== null && <Problem error={error} />}
    </>
  )
  return {
    onSubmit: (event) => {
      event.preventDefault()
      void run()
    },
    isBusy,
    outcome,
  }
}
