import { Group, Kbd, Switch, Table } from '@mantine/core'

import { Dialog } from '../../ui/inputs/dialog.tsx'
import { SHORTCUTS } from './shortcuts.ts'

/** The list of shortcuts, and the switch that turns them off. */
export function ShortcutsHelp({
  isOn,
  onSwitch,
  onClose,
}: {
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
          {SHORTCUTS.map(([keys, does]) => (
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
