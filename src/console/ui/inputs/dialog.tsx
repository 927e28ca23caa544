import { Group, Modal, type MantineSize } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'

import { WRITTEN } from '../written.ts'

/**
 * A dialog above the page, named by its title. Without `onClose` only its content ends it. When it
 * closes, the focus returns to where it was.
 */
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
  useFocusReturn()
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
        {/* Not the library's header, whose element would be a second banner of the document. */}
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

/** The library returns the focus of a dialog that is closed, but not of one that is unmounted. */
function useFocusReturn(): void {
  const [from] = useState(() => placesAround(document.activeElement))
  useEffect(() => () => from.find(isFocusable)?.focus({ preventScroll: true }), [from])
}

const isFocusable = (element: HTMLElement): boolean => element.isConnected && element.tabIndex >= 0

/**
 * Where the focus can return to: the element, its ancestors, and the button of the menu that it was
 * in.
 */
function placesAround(element: Element | null): HTMLElement[] {
  const places: HTMLElement[] = []
  for (let at = element; at instanceof HTMLElement && at !== document.body;) {
    places.push(at)
    const opener = at.role === 'menu' ? document.getElementById(at.getAttribute('aria-labelledby') ?? '') : null
    at = opener ?? at.parentElement
  }
  return places
}
