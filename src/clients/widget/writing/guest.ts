// A guest: somebody without a sign-in, who confirms an e-mail address by a link.
import { type Challenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/web/pbkdf2'

import type { RequestError } from '../backend.ts'
import { GUEST, guestOf, keepGuest } from '../site.ts'
import type { Storage } from '../storage.ts'
import type { Thread } from '../thread.ts'
import { isHeld, PANEL, storedPanel } from './fields.ts'
import css from './guest.css?inline'
import { addStyles, kit } from './kit.ts'

/** What is asked of a guest. */
interface Guest {
  /** The key of the draft below which it stands. */
  place: string
  /** It is `known` while the page loads for a guest who has just confirmed. */
  step: 'form' | 'sent' | 'confirm' | 'known' | 'none'
  name: string
  email: string
  /** That of nobody, with what was written before the guest was known. */
  drafts: Storage | undefined
}

const guests = new Map<Thread, Guest>()

function guestIn(thread: Thread): Guest {
  const known: Guest = guests.get(thread) ?? { place: kit.NEW, step: 'none', name: '', email: '', drafts: undefined }
  guests.set(thread, known)
  if (!thread.me) known.drafts = thread.storage
  addStyles(thread, css)
  return known
}

/** The place of its errors. */
const PLACE = 'guest'

// A guest is known, or no longer, since another tab.
addEventListener('storage', ({ key }) => {
  if (key !== null && !key.startsWith(GUEST)) return
  for (const thread of guests.keys()) {
    if (!thread.isConnected) guests.delete(thread)
    else if ((guestOf(thread.backend) !== null) !== (thread.me !== null)) thread.reload()
  }
})

/** Asks who they are. */
export function ask(thread: Thread, place: string): void {
  const guest = guestIn(thread)
  if (guest.step === 'known') return
  // Another tab knows it.
  if (guestOf(thread.backend) !== null) return thread.reload()
  // The link that they have come by is not spent yet.
  const isLinked = thread.guestLink !== undefined
  Object.assign(guest, { place, step: isLinked ? 'confirm' : 'form' })
  thread.errors.delete(PLACE)
  void thread.focusOn(isLinked ? '.guest button' : '.guest input', true)
}

/** Called where the page was opened by a link, or its reader is a guest already. */
export function begin(thread: Thread): void {
  const guest = guestIn(thread)
  if (!thread.guestLink || guest.step === 'confirm') return
  Object.assign(guest, { place: kit.NEW, step: 'confirm' })
  void thread.focusOn('.guest button', true)
}

/** Keeps what the guest had written, when the page is loaded for them. */
export function carryDrafts(thread: Thread): void {
  const guest = guests.get(thread)
  const { me, storage } = thread
  if (!guest?.drafts || !me) return
  const { drafts } = guest
  guest.drafts = undefined
  if (guest.step !== 'confirm') guest.step = 'none'
  // That a mail was sent.
  thread.status = ''
  const panel = storedPanel(drafts)
  for (const place of [kit.NEW, PANEL, ...(panel ? [panel.id] : [])]) {
    const { text, mentioned, key } = drafts.draft(place)
    // Under its key, by which other tabs know it.
    if (text !== '' && storage.draft(place).text === '') storage.setDraft(place, text, mentioned, undefined, key)
    drafts.setDraft(place, '')
  }
}

/**
 * Solves a challenge of the service. Each key is made outside of the page's own thread, by the
 * browser; a worker of another origin would need a policy that allows it.
 */
async function prove(thread: Thread): Promise<string> {
  const challenge = await kit.ask<Challenge>(`${thread.backend}/challenge`)
  const solution = await solveChallenge({ challenge, deriveKey })
  return btoa(JSON.stringify({ challenge, solution }))
}

const send = (thread: Thread): Promise<void> =>
  kit.act(thread, PLACE, 'guest', async () => {
    const guest = guestIn(thread)
    const { name, email } = guest
    thread.status = thread.words.text('guestWait')
    const request = async () =>
      kit.ask(`${thread.backend}/guests`, 'POST', { name, email, pageUrl: thread.address, proof: await prove(thread) })
    try {
      // A lost answer has spent the proof, or it took too long.
      await request().catch((error: RequestError) => {
        if (error.code !== 'invalid_proof') throw error
        return request()
      })
    } finally {
      thread.status = ''
    }
    guest.step = 'sent'
    thread.status = thread.words.text('guestSent', { name: email })
    void thread.focusOn('.guest', true)
  })

/** The field that somebody writes in. */
const fieldOf = ({ panel }: Thread): string => (panel ? '.panel textarea' : 'textarea')

const confirm = (thread: Thread): Promise<void> =>
  kit.act(thread, PLACE, 'guest', async () => {
    const guest = guestIn(thread)
    const given = { token: thread.guestLink }
    const { data } = await kit
      .ask<{ data: { token: string } }>(`${thread.backend}/guests/confirm`, 'POST', given)
      .catch((error: RequestError) => {
        if (error.code === 'invalid_guest_token') {
          thread.guestLink = undefined
          guest.step = 'form'
          void thread.focusOn('.guest input', true)
        }
        throw error
      })
    thread.guestLink = undefined
    guest.step = 'known'
    keepGuest(thread.backend, data.token)
    const onReady = (): void => {
      guest.step = 'none'
      void thread.focusOn(fieldOf(thread), true)
    }
    thread.addEventListener('engagement-ready', onReady, { once: true })
    thread.reload()
  })

const signOut = (thread: Thread): Promise<void> =>
  kit.act(thread, PLACE, 'guest', async () => {
    await kit.ask(`${thread.backend}/guests/me`, 'DELETE').catch((error: RequestError) => {
      // It has ended already.
      if (error.code !== 'identity_required') throw error
    })
    keepGuest(thread.backend, null)
    thread.reload()
  })

/** Whether somebody who is not signed in is asked something below the field of this place. */
export function isAsked(thread: Thread, place: string): boolean {
  const guest = guests.get(thread)
  return !thread.me && guest?.place === place && guest.step !== 'none'
}

/** What stands below the field of this place. */
export function view(thread: Thread, place: string): unknown {
  const { html, nothing } = kit
  const guest = guests.get(thread)
  if (!guest) return nothing
  const { me } = thread
  // Readers who are signed in may come by a link as well, and can post all the same.
  if (guest.place === place && (!me || guest.step === 'confirm'))
    return { confirm: confirmView, sent: sentView, form: formView, known: () => nothing, none: () => nothing }[
      guest.step
    ](thread, guest)
  if (place !== kit.NEW || !me) return nothing
  return me.id.startsWith('guest:') ? knownView(thread, me.name) : kit.errorView(thread.errors.get(PLACE))

  function knownView({ words, errors }: Thread, name: string | null): unknown {
    const shown = name ?? words.text('anonymous')
    return html`<div class="row guest">
      <span class="quiet">${words.text('guestIs', { name: shown })}</span>
      ${kit.button(words.text('signOut'), () => signOut(thread))} ${kit.errorView(errors.get(PLACE))}
    </div>`
  }
}

function confirmView(thread: Thread, guest: Guest): unknown {
  const { words, errors } = thread
  const cancel = (): void => {
    thread.guestLink = undefined
    guest.step = 'none'
    thread.errors.delete(PLACE)
    void thread.focusOn(fieldOf(thread), true)
  }
  // Programs that open links of mails, and run scripts, press no button.
  return kit.html`<div part="guest" class="guest notice" role="group" aria-label=${words.text('guestConfirm')} tabindex="-1">
    <p>${words.text('guestConfirm')}</p>
    ${isHeld(thread) ? kit.nothing : kit.html`<p>${words.text('guestElsewhere')}</p>`}
    <div class="row">
      ${kit.button(words.text('confirm'), () => confirm(thread), { kind: 'primary' })}
      ${kit.button(words.text('cancel'), cancel)}
    </div>
    ${kit.errorView(errors.get(PLACE))}
  </div>`
}

function sentView(thread: Thread, guest: Guest): unknown {
  const { words } = thread
  const change = (): void => ask(thread, guest.place)
  return kit.html`<div part="guest" class="guest notice" tabindex="-1">
    <p>${words.text('guestSent', { name: guest.email })}</p>
    ${isHeld(thread) ? kit.html`<p>${words.text('kept')}</p>` : kit.nothing}
    ${kit.button(words.text('guestAgain'), change)}
  </div>`
}

function formView(thread: Thread, guest: Guest): unknown {
  const { html, button, errorView } = kit
  const { words, busy, errors } = thread
  // Disabled, the button would lose the focus.
  const isOff = busy.has(PLACE)
  const set = (name: 'name' | 'email') => (event: Event) => {
    guest[name] = (event.target as HTMLInputElement).value
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    if (!isOff) void send(thread)
  }
  const close = (): void => {
    guest.step = 'none'
    void thread.focusOn(fieldOf(thread), true)
  }
  const leave = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return
    // Not the panel around it.
    event.stopPropagation()
    close()
  }
  const signIn = (): unknown => thread.emit('sign-in', { action: 'post' }) && thread.warn('sign-in')
  return html`<form part="form guest" class="guest" @submit=${submit} @keydown=${leave}>
    <p class="quiet">${words.text('guestNote')}</p>
    <label>
      ${words.text('guestName')}
      <input
        name="name"
        required
        maxlength="80"
        autocomplete="name"
        dir="auto"
        ?readonly=${isOff}
        .value=${guest.name}
        @input=${set('name')}
      />
    </label>
    <label>
      ${words.text('guestEmail')}
      <input
        name="email"
        type="email"
        required
        maxlength="254"
        autocomplete="email"
        dir="ltr"
        ?readonly=${isOff}
        .value=${guest.email}
        @input=${set('email')}
      />
    </label>
    ${isOff ? html`<p class="quiet">${words.text('guestWait')}</p>` : errorView(errors.get(PLACE))}
    <div class="row">
      ${button(words.text('guestSend'), null, { kind: 'primary', type: 'submit' })}
      ${button(words.text('cancel'), close)}
      ${thread.hasAttribute('sign-in') ? button(words.text('signIn'), signIn) : kit.nothing}
    </div>
  </form>`
}
