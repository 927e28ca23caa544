import { Code, Group, Stack, Tabs } from '@mantine/core'

import { Copy } from './secret.tsx'

/** One piece of code in several languages, ready to paste. `label` says what it does. */
export function Snippets({ label, snippets }: { label: string; snippets: Readonly<Record<string, string>> }) {
  const languages = Object.keys(snippets)
  return (
    <Tabs defaultValue={languages[0] ?? null} keepMounted={false}>
      <Tabs.List aria-label={`${label}: languages`}>
        {languages.map((language) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(snippets).map(([language, text]) => (
        <Tabs.Panel key={language} value={language} pt="sm">
          <Stack gap="xs">
            <Group justify="flex-end">
              <Copy value={text} label={`Copy the ${language} code`} />
            </Group>
            <Code block tabIndex={0} aria-label={`${label}, in ${language}`} mah={480}>
              {text}
            </Code>
          </Stack>
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
