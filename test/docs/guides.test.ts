import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { beforeAll, describe, expect, test } from 'vitest'

import { useFolder } from '../harness/folders.ts'
import { readPages, ROOT } from '../harness/markdown.ts'
import { freePort } from '../harness/ports.ts'
import { useService } from '../harness/service.ts'

const pages = new Map(readPages().map((page) => [page.path, page]))

/**
 * The shell blocks of a guide, each after a line that names it. Left out are the site of the
 * widget's guide and the gateway, which need packages of npm and are run by
 * test/docs/guide-programs and test/docs/federation-gateway, the server of a static page, the
 * mailer to try, and commands of the command line, which do not reach this service's embedded
 * database.
 */
const scriptOf = (guide: string): string =>
  (pages.get(`docs/guides/${guide}.md`)?.blocks ?? [])
    .filter(
      ({ language, content }) =>
        language === 'sh' && !/npm (install|ci|start|run cli)|server\.mjs|:4002|listen\((8080|4100)\)/.test(content),
    )
    .map(({ content, line }) => `echo; echo "== ${guide}:${line}"\n${content}`)
    .join('\n')

// What starts the service is left out, and `as`, which needs the built command line.
const HELPERS = (pages.get('docs/guides/README.md')?.blocks ?? [])
  .flatMap(({ content }) => content.split('\n'))
  .filter((line) => /^(api|field)\(\)/.test(line))
  .join('\n')

const UNTIL = 'until_ok() { for _ in $(seq 100); do $1 >/dev/null && return; sleep 0.1; done; echo "Error: never $1"; }'
const IS_VERIFIED = `is_verified() { api "/webhooks/$(echo "$HOOK" | field .id)" | grep '"state":"verified"'; }
until_ok is_verified`
const END =
  'until_ok "grep arrive received.txt"; until_ok "grep rotation received.txt"; kill $RECEIVER; cat received.txt'

const hasTools = ['bash', 'curl'].every((program) => spawnSync(program, ['--version']).error === undefined)

describe.skipIf(!hasTools)(
  `the guides, pasted one after another${hasTools ? '' : ' (skipped: bash or curl is not here)'}`,
  () => {
    const service = useService({ env: { WEBHOOK_ALLOW_HTTP: 'true' }, worker: true })
    let output = ''
    const folder = useFolder()

    beforeAll(async () => {
      mkdirSync(join(folder, '.data'))
      mkdirSync(join(folder, 'node_modules'))
      symlinkSync(ROOT, join(folder, 'node_modules/engagement-service'))
      const port = await freePort()
      const graphql = [
        'README',
        'client',
        'objects',
        'errors',
        'documents',
        'limits',
        'subscriptions',
        'federation',
      ].map((name) => `graphql/${name}`)
      const script = [
        'rest',
        ...graphql,
        'stream',
        'inbox',
        'moderation',
        'members',
        'privacy',
        'backend',
        'widget',
        'static-page',
        'guests',
        'issuer-for-development',
        // Last, because END prints what its receiver got.
        'webhooks',
      ]
        .map(scriptOf)
        .join('\n')
        .replaceAll('admin@example.com', service.admin.email)
        .replaceAll('5000', String(port))
        // The third terminal. Where a person waits, the script waits for its condition.
        .replace(/^node .*receiver\.mjs$/m, `$& >received.txt & RECEIVER=$!; until_ok "curl -s 127.0.0.1:${port}"`)
        .replace('sleep 1', () => IS_VERIFIED)
        .replaceAll('--max-time 3', '--max-time 1')
      const as = async (sub: string): Promise<string> => (await service.as(sub))['x-service-identity'] ?? ''
      const shell = spawn('bash', ['-c', `exec 2>&1\n${HELPERS}\n${UNTIL}\n${script}\n${END}`], {
        cwd: folder,
        env: {
          ...process.env,
          BASE: service.url,
          API_KEY: service.apiKey,
          IDENTITY_SECRET: service.identitySecret.secret,
          ADMIN_PASSWORD: service.admin.password,
          ANN: await as('reader-1'),
          BEN: await as('reader-2'),
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      output = await text(shell.stdout)
    })

    /** What a guide has printed. */
    const of = (guide: string): string =>
      output
        .split(/^== /m)
        .filter((part) => part.startsWith(`${guide}:`))
        .join('')

    test('run without an error', () => {
      const failed = output
        .split(/^== /m)
        .filter((part) => /urn:engagement-service:error|"errors":|command not found|Error:/.test(part))
      expect(failed).toEqual([])
    })

    test('REST: the replies, an unchanged page, a next page, a write that runs once', () => {
      expect(of('rest')).toContain('"body":"I agree."')
      expect(of('rest')).toMatch(/^\{"data":\[\{[^\n]*"body":"First, [^\n]*"nextCursor":null,"hasMore":false\}$/m)
      expect(of('rest')).toMatch(/^HTTP\/1\.1 304/m)
      const [first, second, ...more] = [...of('rest').matchAll(/"id":"([^"]+)"[^\n]*"body":"Once\."/g)].map(
        ([, id]) => id,
      )
      expect([first, more]).toEqual([second, []])
    })

    test('GraphQL: a query, a mutation and a subscription, and the same by a client token', () => {
      expect(of('graphql/README')).toContain('{"data":{"discussion":{"commentCount":3,"lastEventId":"5"')
      expect(of('graphql/README')).toContain('{"data":{"createComment":{"comment":{')
      expect(of('graphql/client')).toContain('{"data":{"viewer":{"name":"Reader reader-1"}')
      expect(of('graphql/client')).toContain('{"data":{"createComment":{"comment":{')
      expect(of('graphql/objects')).toContain('{"data":{"node":{"__typename":"Discussion"')
      expect(of('graphql/subscriptions')).toContain('{"type":"reaction_toggled","seq":4}')
    })

    test('GraphQL: a mutation that runs once, a document by its id that is not sent again, and a cost', () => {
      const [first, ...more] = of('graphql/errors').match(/"createComment":\{"comment":\{"id":"[^"]+"/g) ?? []
      expect(more).toEqual([first])
      expect(of('graphql/documents')).toMatch(/^HTTP\/1\.1 304/m)
      expect(of('graphql/limits')).toMatch(/"extensions":\{"cost":\{"requested":\d+,"limit":20000\}\}/)
    })

    test('Federation: the schema of the subgraph', () => {
      expect(of('graphql/federation')).toContain('@key(fields: "externalId")')
    })

    test('stream: all events, and a ticket', () => {
      expect(of('stream')).toMatch(/^event: comment_created$/m)
      expect(of('stream')).toContain('"streamUrl":')
    })

    test('moderation and privacy: a held comment is approved, its reader exported and erased', () => {
      expect(of('moderation')).toContain('"reason":"suspect_word"')
      expect(of('moderation')).toMatch(/^\{"data":\[\{[^\n]*"body":"Perhaps so\."[^\n]*"pinnedAt":"/m)
      expect(of('moderation')).toContain('"action":"comment.approve"')
      expect(of('moderation')).toContain(`"email":"${service.admin.email}"`)
      expect(of('privacy')).toContain('"externalId":"reader-2"')
    })

    test('inbox: replies and a mention are counted, read, and handed out for a mail', () => {
      expect(of('inbox')).toMatch(/^\{"count":[1-9]\d*,"hasMore":false\}$/m)
      expect(of('inbox')).toMatch(/^\{"count":0,"hasMore":false\}$/m)
      expect(of('inbox')).toMatch(/^reader-1$/m)
      expect(of('inbox')).toMatch(/^\{"handedOutIds":\["[\da-f-]{36}"\]\}$/m)
    })

    test('moderation: the figures of the team say how often a rule was right', () => {
      expect(of('moderation')).toMatch(/reason: 'suspect_word'/)
    })

    test('guests: the settings name the mailer, and the site takes guests', () => {
      expect(of('guests')).toMatch(/^http:\/\/127\.0\.0\.1:4100\/$/m)
      expect(of('guests')).toMatch(/^email$/m)
    })

    test('issuer for development: the settings name it', () => {
      expect(of('issuer-for-development')).toContain('"issuer":"http://127.0.0.1:4200"')
    })

    test('widget: the settings have the origin of its site', () => {
      expect(of('widget')).toContain('"allowedOrigins":["http://localhost:3000"]')
    })

    test('a page without a backend: the comment that its page gets', () => {
      expect(of('static-page').match(/"body":"I shall take it\."/g)).toHaveLength(2)
    })

    test('webhooks: the endpoint is verified, and the receiver prints what has arrived', () => {
      expect(of('webhooks')).toMatch(/^verified$/m)
      expect(of('webhooks')).toMatch(/^[\da-f-]{36} \d+ comment_created Does it arrive\?$/m)
      expect(of('webhooks')).toMatch(/^[\da-f-]{36} \d+ comment_created After the rotation\.$/m)
    })
  },
)
