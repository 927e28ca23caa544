import { Button, Group, Kbd, Switch, Table } from '@mantine/core'
import { useState } from 'react'

import { IconKeyboard } from '../../ui/icons.tsx'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { useShortcutsSetting } from '../../ui/inputs/keys.ts'
import { type Shortcuts, SHORTCUTS } from './shortcuts.ts'

/** Whether the keys are on, a button that shows them, and the dialog with them. */
export function useHelp(shortcuts: Shortcuts = SHORTCUTS) {
  const [hasShortcuts, setOn] = useShortcutsSetting()
  const [isHelping, setHelping] = useState(false)
  const onHelp = (): void => setHelping(true)
  const button = (
    <Button
      variant="default"
      // A phone has no such keys, and no room.
      visibleFrom="sm"
      leftSection={<IconKeyboard size={16} aria-hidden />}
      aria-keyshortcuts="?"
      onClick={onHelp}
    >
      {hasShortcuts ? 'Shortcuts' : 'Shortcuts are off'}
    </Button>
  )
  const dialog = isHelping && (
    <ShortcutsHelp shortcuts={shortcuts} isOn={hasShortcuts} onSwitch={setOn} onClose={() => setHelping(false)} />
  )
  return { hasShortcuts, onHelp, button, dialog }
}

/** The list of shortcuts, and the switch that turns them off. */
function ShortcutsHelp({
  shortcuts,
  isOn,
  onSwitch,
  onClose,
}: {
  shortcuts: Shortcuts
  isOn: boolean
  onSwitch: (isOn: boolean) => void
  onClose: () => void
}) {
  return (
    <Dialog title="Keys for moderating" onClose={onClose}>
      <Switch
        label="Use these keys"
        description="When off, everything can still be done with Tab and Enter"
        checked={isOn}
        onChange={({ currentTarget }) => onSwitch(currentTarget.checked)}
        mb="md"
      />
      <Table aria-label="Keys">
        <Table.Tbody>
          {shortcuts.map(([keys, does]) => (
            <Table.Tr key={does}>
              <Table.Td w={110}>
                <Group gap={4} wrap="nowrap">
                  {keys.map((key) => (
                    <Kbd key={key}>{key}</Kbd>
                  ))}
                </Group>
              </Table.Td>
              <Table.Td>{does}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Dialog>
  )
}
