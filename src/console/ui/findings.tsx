import { List, Text, ThemeIcon, VisuallyHidden } from '@mantine/core'

import { IconAlertTriangle, IconCheck } from './icons.tsx'
import { WRITTEN } from './written.ts'

/** What a test has found. */
export interface Finding {
  isGood: boolean
  text: string
}

export const Findings = ({ findings }: { findings: readonly Finding[] }) => (
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
