import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

import { signedHeaders } from '../../src/core/delivery/request.ts'
import { newSigningSecret } from '../../src/core/secrets/signing-secrets.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = (program: string, args: string[], input = '') =>
  execFileSync(program, args, { input, cwd: root }).toString().trim()

const has = (program: string): boolean => spawnSync(program, ['--help']).error === undefined
const skipped = (program: string): string => (has(program) ? program : `${program} (skipped: it is not here)`)

/** Python that takes the functions of the guide. */
const GUIDE = `
import json, re, sys
guide = open('docs/guides/webhook-signatures.md', encoding='utf8').read()
exec(re.search(r'\`\`\`python\\n(.*?)\`\`\`', guide, re.S).group(1))`

describe('independent code agrees', () => {
  const current = newSigningSecret()
  const text = JSON.stringify({
    type: 'comment_created',
    note: 'ü \u2028 😀',
    bytes: randomBytes(20).toString('base64'),
  })
  const request = {
    prefix: 'X-Service-',
    event: 'comment_created',
    deliveryId: 'd',
    idempotencyKey: 'comment_created:e',
  }
  const headers = signedHeaders(request, [current], new Date(), text) as Record<string, string>
  const v1 = /v1=(\w+)/.exec(headers['X-Service-Signature'] ?? '')?.[1]

  test.skipIf(!has('openssl'))(`${skipped('openssl')}, by its command line`, () => {
    const input = `${headers['X-Service-Timestamp']}.${text}`
    const output = run('openssl', ['dgst', '-sha256', '-hmac', current.secret], input)
    expect(output.split(/\s+/).at(-1)).toBe(v1)
  })

  test.skipIf(!has('python3'))(`${skipped('python3')}, as the guide has it`, () => {
    const script = `${GUIDE}
given = json.load(sys.stdin)
raw = given['body'].encode()
print(is_genuine(given['headers'], raw, [given['secret']]), is_genuine(given['headers'], raw + b' ', [given['secret']]))
print(is_genuine(given['headers'], raw, ['whs_other']))`
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
    const input = JSON.stringify({ headers: lower, body: text, secret: current.secret })
    expect(run('python3', ['-c', script], input)).toBe('True False\nFalse')
  })

  test.skipIf(!has('python3'))(`${skipped('python3')}, as the guide has it, on each vector`, () => {
    const script = `${GUIDE}
Instant = datetime
class datetime(Instant):
    @classmethod
    def now(cls, tz=None):
        return Instant.fromisoformat(at.replace("Z", "+00:00"))
wrong = []
for vector in json.load(open('vectors/webhook-signatures.json', encoding='utf8'))['vectors']:
    at = vector['now']
    headers = {name.lower(): value for name, value in vector['headers'].items()}
    if is_genuine(headers, vector['body'].encode(), vector['secrets']) != vector['valid']:
        wrong.append(vector['name'])
print(wrong)`
    expect(run('python3', ['-c', script])).toBe('[]')
  })
})

test('the package exports what verifies messages, and nothing else of the service', () => {
  const script = `const all = await import('engagement-service/webhooks'); console.log(Object.keys(all).sort().join())`
  expect(run(process.execPath, ['--input-type=module', '-e', script])).toBe(
    'WebhookVerificationError,verifyGuestMail,verifyWebhook',
  )
})
