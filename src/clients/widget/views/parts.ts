import { html, nothing } from 'lit/html.js'

import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'

export interface Look {
  kind?: 'plain' | 'primary' | 'danger' | 'chip' | 'face' | 'news' | 'more'
  type?: 'button' | 'submit'
  /** For when the text alone is not clear. */
  label?: string
  isOpen?: boolean
  isPressed?: boolean
  isOff?: boolean
  /** What it opens, which returns the focus to it. */
  opens?: string
}

export const button = (text: unknown, click: (() => unknown) | null, look: Look = {}): unknown => {
  const { kind = 'plain', type = 'button', label, isOpen, isPressed, isOff = false, opens } = look
  return html`<button
    type=${type}
    part="button ${kind}"
    class=${kind}
    title=${label ?? nothing}
    aria-label=${label ?? nothing}
    aria-haspopup=${opens === 'menu' ? opens : nothing}
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

/** Why something failed: a known text, or the reason itself. */
export const errorView = (reason: unknown): unknown =>
  typeof reason === 'string' ? html`<p part="error" class="error" role="alert">${reason}</p>` : reason

/**
 * The text of this name if there is one, else the name itself, such as a tenant's own type of
 * reaction.
 */
export const named = ({ words }: Pick<Thread, 'words'>, name: string): string =>
  words.has(name) ? words.text(name) : name

export const nameOf = ({ words }: Thread, { author }: PageComment): string => author?.name ?? words.text('anonymous')
