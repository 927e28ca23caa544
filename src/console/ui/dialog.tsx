import { Group, Modal, type MantineSize } from '@mantine/core'
import type { ReactNode } from 'react'

import { WRITTEN } from './written.ts'

/** A dialog above the page, named by its title. Without `onClose` only what is in it ends it. */
export function Dialog({
  title,
  onClose,
  size = 'md',
  children,
}: {
  title: string
  onClose?: () => void
  size?: MantineSize
  children: ReactNode
}) {
  const canClose = onClose !== undefined
  return (
    <Modal.Root
      opened
      onClose={onClose ?? (() => undefined)}
      size={size}
      closeOnEscape={canClose}
      closeOnClickOutside={canClose}
    >
      <Modal.Overlay />
      <Modal.Content>
        {/* Not the library's own header: its element would be a second banner of the document. */}
        <Group justify="space-between" wrap="nowrap" align="flex-start" p="md" pb="xs">
          <Modal.Title {...WRITTEN} fw={600}>
            {title}
          </Modal.Title>
          {canClose && <Modal.CloseButton aria-label="Close" />}
        </Group>
        <Modal.Body>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}
