// Mails of what readers have not read. Each batch is written to a file before it is handed out, and
// the file goes once all its mails are accepted: a kill in between loses nothing.
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { type Line, plainName, send, UnmailableError, webLink } from './mails.ts'

/** What the mailer uses of a notification. */
interface Notification {
  id: string
  kind: 'reply' | 'mention' | 'decision'
  actor: { name: string | null } | null
  discussion: { title: string | null; url: string | null }
}

interface Pending {
  data: { reader: { externalId: string }; notifications: Notification[] }[]
  nextCursor: string | null
}

/** The notifications of one reader, as they are in a file until they are mailed. */
interface Batch {
  to: string
  notifications: Notification[]
}

export interface InboxOptions {
  /** The address of the service, and a key that may hand out notifications. */
  url: string
  apiKey: string
  /** Where batches are kept. */
  folder: string
  /** How long a notification stays unread before it is mailed. */
  olderThanSeconds: number
  /** The address of a reader. Null: they get no mails. */
  addressOf: (externalId: string) => Promise<string | null>
}

/** Returns what mails all that is pending. It throws where the service is not there. */
export function createInboxMailer({ url, apiKey, folder, olderThanSeconds, addressOf }: InboxOptions) {
  mkdirSync(folder, { recursive: true })

  async function ask<Answer>(path: string, body?: object, key?: string): Promise<Answer> {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'x-api-key': apiKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    })
    if (!response.ok) throw new Error(`${path.split('?')[0]} answered ${response.status}`)
    return (await response.json()) as Answer
  }

  async function mailBatch(name: string): Promise<void> {
    const file = join(folder, name)
    const { to, notifications } = JSON.parse(readFileSync(file, 'utf8')) as Batch
    // The name of the file is the Idempotency-Key: asked again, the service answers the same ids.
    const ids = notifications.map(({ id }) => id)
    const { handedOutIds } = await ask<{ handedOutIds: string[] }>('/notifications/handed-out', { ids }, name)
    const taken = notifications.filter(({ id }) => handedOutIds.includes(id))
    if (taken.length > 0) await sendNotifications(name, to, taken)
    rmSync(file)
  }

  /** What an earlier run, or an SMTP server that was not there, has left. */
  async function mailBatches(): Promise<void> {
    for (const name of readdirSync(folder).filter((each) => !each.endsWith('.new'))) {
      try {
        await mailBatch(name)
      } catch (error) {
        const { code, responseCode = 0, message } = error as { code?: string; responseCode?: number; message: string }
        // Without the address, which is in the message of an SMTP server.
        console.error('a mail to a reader was not accepted:', code ?? message)
        const isRefused = code === 'EENVELOPE' && responseCode >= 500
        if (isRefused || error instanceof UnmailableError) rmSync(join(folder, name))
      }
    }
  }

  return async function mailInboxes(): Promise<void> {
    await mailBatches()
    // What waits here is pending no more, or is in a file whose hand-out has failed.
    const waiting = new Set(readdirSync(folder).flatMap((name) => idsIn(join(folder, name))))
    for (let cursor: string | null = ''; cursor !== null;) {
      const more = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const page: Pending = await ask(`/notifications/pending?olderThanSeconds=${olderThanSeconds}${more}`)
      for (const { reader, notifications } of page.data) {
        const to = await addressOf(reader.externalId)
        const left = notifications.filter(({ id }) => !waiting.has(id))
        if (to !== null && left.length > 0) writeBatch({ to, notifications: left.map(usedOf) })
      }
      await mailBatches()
      cursor = page.nextCursor
    }
  }

  function writeBatch(batch: Batch): void {
    const file = join(folder, randomUUID())
    writeFileSync(`${file}.new`, JSON.stringify(batch), { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
  }
}

function idsIn(file: string): string[] {
  if (file.endsWith('.new')) return []
  return (JSON.parse(readFileSync(file, 'utf8')) as Batch).notifications.map(({ id }) => id)
}

const usedOf = ({ id, kind, actor, discussion: { title, url } }: Notification): Notification => ({
  id,
  kind,
  actor: actor === null ? null : { name: actor.name },
  discussion: { title, url },
})

const TEXTS = {
  reply: (who: string) => `${who} has replied to you`,
  mention: (who: string) => `${who} has named you`,
  decision: () => 'A moderator has decided on your comment',
}

function sendNotifications(key: string, to: string, notifications: readonly Notification[]): Promise<void> {
  const lines = notifications.flatMap(({ kind, actor, discussion: { title, url } }): Line[] => {
    const who = plainName(actor?.name ?? '') || 'A reader'
    const text = `${TEXTS[kind](who)}${title === null ? '' : `, at "${plainName(title)}"`}.`
    return url === null ? [text] : [text, webLink(url)]
  })
  const messageId = createHash('sha256').update(key).digest('hex')
  return send({ to, messageId, subject: 'What is new in your comments', lines })
}
