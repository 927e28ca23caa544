import { html, nothing } from 'lit/html.js'

import type { PageComment } from './backend.ts'
import type { Thread } from './thread.ts'

export interface Look {
  kind?: 'plain' | 'primary' | 'danger' | 'chip' | 'news' | 'more'
  type?: 'button' | 'submit'
  /** Where the text alone does not say it. */
  label?: string
  isOpen?: boolean
  isPressed?: boolean
  isOff?: boolean
  /** The panel that it opens, to which the focus comes back. */
  opens?: string
}

export const button = (text: unknown, click: (() => unknown) | null, look: Look = {}): unknown => {
  const { kind = 'plain', type = 'button', label, isOpen, isPressed, isOff = false, opens } = look
  return html`<button
    type=${type}
    part="button ${kind}"
    class=${kind}
    title=${isPressed === undefined ? nothing : label}
    aria-label=${label ?? nothing}
    aria-expanded=${isOpen ?? nothing}
    aria-pressed=${isPressed ?? nothing}
    data-opens=${opens ?? nothing}
    ?disabled=${isOff}
    @click=${click}
  >
    ${text}
  </button>`
}

export const notice = (content: unknown): unknown => html`<p part="notice" class="notice">${content}</p>`

/** Why something failed; what is no text is shown as it is. */
export const errorView = (reason: unknown): unknown =>
  typeof reason === 'string' ? html`<p part="error" class="error" role="alert">${reason}</p>` : reason

/**
 * A text where there is one of that name; else the name, such as that of a reaction of the tenant's
 * own.
 */
export const named = ({ words }: Thread, name: string): string => (words.has(name) ? words.text(name) : name)

export const nameOf = ({ words }: Thread, { author }: PageComment): string => author?.name ?? words.text('anonymous')
