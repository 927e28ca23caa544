import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import type { Readable } from 'node:stream'

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { signedHeaders } from '../../src/core/delivery/request.ts'
import { newSigningSecret } from '../../src/core/secrets/signing-secrets.ts'
import { findInExamples } from '../harness/examples.ts'
import { addGuestSite, askFor, easeProofs, startHandingOut } from '../harness/guests.ts'
import { ROOT } from '../harness/markdown.ts'
import { freePort } from '../harness/ports.ts'
import { startService, type TestService } from '../harness/service.ts'
import type { TestSite } from '../harness/sites.ts'
import { unnamed } from '../harness/sql.ts'

const SMTP = findInExamples('smtp-server')
interface Sent {
  to: string
  /** What the SMTP server was given, without soft line ends. */
  text: string
}

interface SmtpServer {
  on(event: 'error', failed: (error: Error) => void): void
  listen(port: number, host: string, done: () => void): void
  close(done: () => void): void
}

const refused = new Set<string>()

/** An SMTP server that notes what it accepts. */
async function openSink(port: number, sent: Sent[]): Promise<() => Promise<void>> {
  const { SMTPServer } = (await import(SMTP ?? '')) as { SMTPServer: new (options: object) => SmtpServer }
  const onData = (
    stream: Readable,
    { envelope }: { envelope: { rcptTo: { address: string }[] } },
    done: (error: unknown) => void,
  ) => {
    textOf(stream).then((raw) => {
      const text = raw.replaceAll('=\r\n', '').replaceAll('=3D', '=')
      sent.push({ to: envelope.rcptTo.map(({ address }) => address).join(), text })
      done(null)
    }, done)
  }
  const onRcptTo = ({ address }: { address: string }, _session: unknown, done: (error?: Error) => void) =>
    refused.has(address) ? done(Object.assign(new Error('no such mailbox'), { responseCode: 550 })) : done()
  const server = new SMTPServer({ onRcptTo, authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'], onData })
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return () => new Promise((resolve) => server.close(resolve))
}

describe.skipIf(SMTP === undefined)(
  `examples/mailer${SMTP === undefined ? ' (skipped: npm ci --prefix examples)' : ''}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'mailer-'))
    const own = newSigningSecret()
    const sent: Sent[] = []
    let service: TestService
    let site: TestSite
    let stopHandingOut: () => Promise<unknown>
    let closeSink: () => Promise<void>
    let smtpPort: number
    let port: number
    let secret: string
    let mailer: ChildProcess
    let errors: string

    async function startMailer(): Promise<void> {
      errors = ''
      mailer = spawn(process.execPath, ['--import', 'tsx', 'examples/mailer/mailer.ts'], {
        cwd: ROOT,
        env: {
          PATH: process.env.PATH,
          PORT: String(port),
          MAILER_FOLDER: folder,
          MAIL_SECRET: `${secret},${own.secret}`,
          SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
          ENGAGEMENT_URL: service.url,
          ENGAGEMENT_API_KEY: service.apiKey,
          INBOX_OLDER_THAN_SECONDS: '0',
          INBOX_INTERVAL_SECONDS: '0.3',
          MAIL_FROM: 'Comments <comments@example.com>',
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      mailer.stderr?.on('data', (data: Buffer) => (errors += data.toString()))
      await Promise.race([
        once(mailer.stdout as Readable, 'data'),
        once(mailer, 'exit').then(([code]) => Promise.reject(new Error(`it has ended with ${code}: ${errors}`))),
      ])
    }
    async function killMailer(): Promise<void> {
      if (mailer?.exitCode === null && mailer.kill('SIGKILL')) await once(mailer, 'exit')
    }

    beforeAll(async () => {
      easeProofs()
      service = await startService({ worker: false, env: { WEBHOOK_ALLOW_HTTP: 'true' } })
      port = await freePort()
      const { mailSecret, ...rest } = await addGuestSite(service, service, {
        mailUrl: `http://127.0.0.1:${port}/guests`,
      })
      site = rest
      secret = mailSecret.secret
      smtpPort = await freePort()
      closeSink = await openSink(smtpPort, sent)
      await startMailer()
      stopHandingOut = await startHandingOut(service.app)
    })
    beforeEach(() => void (sent.length = 0))
    afterAll(async () => {
      await stopHandingOut?.()
      await killMailer()
      await closeSink?.()
      await service?.close()
      rmSync(folder, { recursive: true })
    })

    /** A request as the service makes it, whose secret the test has. */
    async function post(mail: object, { signedBy = own, at = new Date(), id = 'guest_mail:1' } = {}): Promise<number> {
      const body = JSON.stringify(mail)
      const request = { prefix: 'X-Service-', event: 'guest_mail', deliveryId: 'd', idempotencyKey: id }
      const headers = signedHeaders(request, [signedBy], at, body) as Record<string, string>
      const { status } = await fetch(`http://127.0.0.1:${port}/guests`, { method: 'POST', headers, body })
      return status
    }
    const mailTo = (email: string, name = 'Gia') => ({ email, name, url: `https://example.com/a#engagement-guest=1` })
    const tokenIn = ({ text }: Sent): string => /#engagement-guest=([\w-]+)/.exec(text)?.[1] ?? ''

    test('has right types', () => {
      const tsc = ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'examples/mailer']
      expect(execFileSync(process.execPath, tsc, { cwd: ROOT, encoding: 'utf8' })).toBe('')
    })

    test('sends a guest the link that confirms their address', async () => {
      const asked = await askFor(site, 'gia@example.com')
      expect(asked.status, asked.text).toBe(202)
      await vi.waitFor(() => expect(sent.map(({ to }) => to)).toEqual(['gia@example.com']))
      const token = sent.map(tokenIn)[0]
      const { status, json, text } = await site.ask('POST', '/guests/confirm', { body: { token } })
      expect(status, text).toBe(200)
      expect(json.data.reader).toMatchObject({ name: 'Gia' })
    })

    test('refuses a wrong and an old signature, and another body', async () => {
      const mail = mailTo('eve@example.com')
      expect(await post(mail, { signedBy: newSigningSecret() })).toBe(401)
      expect(await post(mail, { at: new Date(Date.now() - 301_000) })).toBe(401)
      expect(await post({ ...mail, url: 1 })).toBe(400)
      const unsigned = await fetch(`http://127.0.0.1:${port}/guests`, { method: 'POST', body: JSON.stringify(mail) })
      expect(unsigned.status).toBe(401)
      expect(sent).toEqual([])
      expect(await post(mail)).toBe(204)
      expect(sent).toHaveLength(1)
    })

    test('sends one mail where the service asks again, also after a kill, and whatever webhook-id says', async () => {
      const mail = mailTo('ida@example.com')
      expect(await Promise.all([post(mail), post(mail), post(mail)])).toEqual([204, 204, 204])
      await killMailer()
      await startMailer()
      expect([await post(mail), await post(mail, { id: 'guest_mail:2' })]).toEqual([204, 204])
      expect(sent.map(({ to }) => to)).toEqual(['ida@example.com'])
    })

    test('sends one mail once SMTP is there again', async () => {
      await closeSink()
      const asked = await askFor(site, 'joe@example.com')
      expect(asked.status, asked.text).toBe(202)
      await vi.waitFor(() => expect(errors).toContain('was not accepted'))
      expect(errors).not.toContain('joe@')
      closeSink = await openSink(smtpPort, sent)
      await vi.waitFor(() => expect(sent.map(({ to }) => to)).toEqual(['joe@example.com']))
      // The service has forgotten the address, and so asks no more.
      const WAITING = 'SELECT count(*)::int AS n FROM guest_requests WHERE sealed IS NOT NULL'
      await vi.waitFor(async () => expect(await count(WAITING)).toBe(0))
      expect(sent).toHaveLength(1)
    })

    test('keeps what strangers write out of headers, HTML and links', async () => {
      const name = 'Eve\r\nBcc: all@example.com\r\n\r\n<img src=x> "&" https://evil.example/x \u202e'
      expect(await post(mailTo('kay@example.com', name))).toBe(204)
      const [{ to, text } = { to: '', text: '' }] = sent
      expect(to).toBe('kay@example.com')
      const headers = text.slice(0, text.indexOf('\r\n\r\n'))
      expect(headers).not.toMatch(/eve|bcc/i)
      expect(text).not.toMatch(/^bcc:|evil\.example|https:\/\/evil/im)
      const html = text.slice(text.indexOf('text/html'))
      expect(html).toContain(
        '<p>Hello Eve Bcc: all example com &lt;img src=x&gt; &quot;&amp;&quot; https evil example x,',
      )
    })

    test.each(['a@example.com, b@example.com', 'a@example.com\r\nRCPT TO:<b@example.com>', 'Eve <a@example.com>', 'a'])(
      'sends nothing to what is not one address: %j',
      async (email) => {
        expect(await post(mailTo(email))).toBe(502)
        expect(await post({ ...mailTo('lea@example.com'), url: 'javascript:alert(1)' })).toBe(502)
        expect(sent).toEqual([])
      },
    )

    async function write(reader: string, name: string, parentId?: string): Promise<string> {
      const headers = await service.as(reader, { name })
      const path = '/discussions/by-external/article-1/comments'
      return (await service.ok('POST', path, { body: 'Hello', parentId }, headers)).id
    }
    const pending = async (): Promise<unknown[]> => (await service.call('GET', '/notifications/pending')).json.data
    const batches = (): string[] => readdirSync(join(folder, 'inbox'))

    test('mails what a reader has not read, once', async () => {
      const id = await write('ann', 'Ann')
      await write('bob', '<b>Bob</b>', id)
      await vi.waitFor(() => expect(sent.map(({ to }) => to)).toEqual(['ann@example.com']))
      expect(sent[0]?.text).toContain('<p>&lt;b&gt;Bob&lt; b&gt; has replied to you')
      await vi.waitFor(() => expect(batches()).toEqual([]))
      expect(await pending()).toEqual([])
      // No mails go to a reader without an address, and what they are told stays pending.
      await write('ann', 'Ann', await write('cleo', 'Cleo'))
      await write('ann', 'Ann', await write('bob', 'Bob'))
      await vi.waitFor(() => expect(sent.map(({ to }) => to)).toEqual(['ann@example.com', 'bob@example.com']))
      expect(await pending()).toMatchObject([{ reader: { externalId: 'cleo' } }])
    })

    test('a kill between the hand-out and the mail loses nothing and doubles nothing', async () => {
      await closeSink()
      await write('bob', 'Bob', await write('ann', 'Ann'))
      await vi.waitFor(() => expect(errors).toContain('a mail to a reader was not accepted'))
      // It is handed out, and not mailed.
      expect(await pending()).toMatchObject([{ reader: { externalId: 'cleo' } }])
      await killMailer()
      expect(batches()).toHaveLength(1)
      closeSink = await openSink(smtpPort, sent)
      await startMailer()
      await vi.waitFor(() => expect(batches()).toEqual([]))
      expect(sent.map(({ to }) => to)).toEqual(['ann@example.com'])
    })

    test('an address that the SMTP server refuses holds up no other mail', async () => {
      refused.add('ann@example.com')
      await write('bob', 'Bob', await write('ann', 'Ann'))
      await write('ann', 'Ann', await write('bob', 'Bob'))
      await vi.waitFor(() => expect(sent.map(({ to }) => to)).toEqual(['bob@example.com']))
      await vi.waitFor(() => expect(batches()).toEqual([]))
      refused.clear()
    })

    const count = async (sql: string): Promise<number> => {
      const [row] = await service.app.db.query<{ n: number }>(unnamed(sql), [])
      return row?.n ?? -1
    }
  },
)
