import { describe, expect, test } from 'vitest'

import { readSettings, type Settings } from '../../src/core/settings/settings.ts'
import { validate } from '../../src/core/input/validate.ts'
import { endpointFields } from '../../src/domains/webhooks/input.ts'
import { guardedLookup } from '../../src/outbound/lookup.ts'
import { openOutbound } from '../../src/outbound/outbound.ts'

const settingsOf = (env: Record<string, string> = {}): Settings =>
  readSettings(env, () => ({ ADMIN_JWT_SECRET: 'x'.repeat(32), ENCRYPTION_KEY: Buffer.alloc(32) }))

/** The code of the refusal; null where the URL may be registered. */
function refusalOf(url: string, settings = settingsOf()): string | null {
  try {
    validate(endpointFields(settings), { url })
    return null
  } catch (error) {
    return (error as { extras: { errors: { code: string }[] } }).extras.errors[0]?.code ?? 'another'
  }
}

/** Every known way to write a private address, or to reach one by a URL. */
const HOSTS: readonly (readonly [what: string, hosts: readonly string[]])[] = [
  ['loopback', ['127.0.0.1', '127.1', '127.0.1', '127.255.255.254', '0', '0.0.0.0']],
  ['one decimal number', ['2130706433', '167772161', '3232235777', '2852039166']],
  ['octal', ['0177.0.0.1', '0177.0.0.01', '012.0.0.1', '0300.0250.0.1', '017700000001', '0251.0376.0251.0376']],
  ['hexadecimal', ['0x7f.0.0.1', '0x7f000001', '0x7f.1', '0xa.0.0.1', '0xA9FEA9FE', '0xc0.0xa8.0.1']],
  ['mixed', ['0x7f.0.0.01', '127.0x0.0.1', '0251.254.0xa9.254', '10.1', '192.168.257', '172.1048577']],
  ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '100.64.0.1']],
  ['metadata', ['169.254.169.254', '168.63.129.16', '100.100.100.200', '[fd00:ec2::254]']],
  ['multicast, broadcast, reserved', ['224.0.0.1', '255.255.255.255', '240.0.0.1', '192.0.0.8', '198.18.0.1']],
  ['v6', ['[::1]', '[::]', '[fe80::1]', '[fc00::1]', '[fd12:3456::1]', '[ff02::1]', '[fec0::1]', '[100::1]']],
  [
    'v4-mapped',
    [
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::ffff:a00:1]',
      '[::ffff:169.254.169.254]',
      '[0:0:0:0:0:ffff:7f00:0001]',
    ],
  ],
  ['v4-compatible and translated', ['[::127.0.0.1]', '[::ffff:0:127.0.0.1]']],
  ['6to4', ['[2002:7f00:1::]', '[2002:a9fe:a9fe::1]', '[2002:c0a8:1::1]']],
  ['NAT64', ['[64:ff9b::7f00:1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::1]']],
  ['Teredo', ['[2001:0:7f00:1::1]', '[2001::1]']],
  ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '[2001:db8::1]']],
  ['other scripts and encodings', ['%31%32%37.0.0.1', '①②⑦.⓪.⓪.①', '１２７.0.0.1', '127。0。0。1', '127%2e0%2e0%2e1']],
  ['a dot at the end', ['127.0.0.1.', '2130706433.']],
]

describe('an endpoint at a private address is refused', () => {
  test.each(HOSTS)('%s', async (_what, hosts) => {
    // Also refused at the attempt, in case an endpoint was registered under other settings.
    const outbound = openOutbound(settingsOf())
    for (const host of hosts) {
      const url = `https://${host}/hook`
      expect([host, refusalOf(url)]).toEqual([host, 'address_not_allowed'])
      const request = { url, headers: {}, body: '{}', timeoutMs: 2000, signal: new AbortController().signal }
      expect([host, (await outbound.post(request)).error]).toEqual([host, 'address not allowed'])
    }
    outbound.close()
  })

  test('there are at least 60 of these', () => {
    expect(new Set(HOSTS.flatMap(([, hosts]) => hosts)).size).toBeGreaterThanOrEqual(60)
  })

  test.each([
    ['https://user@example.com/', 'credentials_not_allowed'],
    ['https://user:pass@example.com/', 'credentials_not_allowed'],
    ['https://:pass@example.com/', 'credentials_not_allowed'],
    ['https://example.com@127.0.0.1/', 'credentials_not_allowed'],
    ['https://127.0.0.1#@example.com/', 'address_not_allowed'],
    ['https://127.0.0.1?@example.com/', 'address_not_allowed'],
    ['https://127.0.0.1\\@example.com/', 'invalid_url'],
    ['https://example.com\\@example.org/x', 'invalid_url'],
    ['https://example.com\\x', 'invalid_url'],
    ['https:///example.com', 'invalid_url'],
    ['https:////example.com', 'invalid_url'],
    ['https:\\\\example.com', 'invalid_url'],
    ['https:example.com', 'invalid_url'],
    ['https:/example.com', 'invalid_url'],
    ['http://example.com/', 'https_required'],
    ['ftp://example.com/', 'https_required'],
    ['file:///etc/passwd', 'https_required'],
    ['gopher://example.com/', 'https_required'],
    ['javascript:alert(1)', 'https_required'],
    ['//example.com/', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://exa mple.com/', 'invalid_url'],
    ['https://example.com/\n', 'invalid_url'],
    ['https://256.256.256.256/', 'invalid_url'],
    ['https://[::1/', 'invalid_url'],
    ['https://example.com:99999/', 'invalid_url'],
  ])('%s: %s', (url, code) => {
    expect(refusalOf(url)).toBe(code)
  })

  test('the refusal of a text that is no URL shows one', () => {
    expect(() => validate(endpointFields(settingsOf()), { url: 'nope' })).toThrow(
      '/url must be a full address, such as',
    )
  })
})

describe('a port', () => {
  test.each([22, 25, 80, 135, 389, 445, 636, 1023, 0])('%i is refused, also at the attempt', async (port) => {
    const url = `https://example.com:${port}/`
    expect(refusalOf(url)).toBe('port_not_allowed')
    const outbound = openOutbound(settingsOf(), () => Promise.reject(new Error('nobody asks for the name')))
    const request = { url, headers: {}, body: '{}', timeoutMs: 2000, signal: new AbortController().signal }
    expect((await outbound.post(request)).error).toBe('port not allowed')
    outbound.close()
  })

  test.each(['', ':443', ':1024', ':8443', ':65535'])('%j is allowed', (port) => {
    expect(refusalOf(`https://example.com${port}/`)).toBeNull()
  })

  test('WEBHOOK_ALLOWED_PORTS lists the allowed ones; http adds its own', () => {
    const own = settingsOf({ WEBHOOK_ALLOWED_PORTS: '443, 8000-8999' })
    expect([443, 8000, 8999].map((port) => refusalOf(`https://example.com:${port}/`, own))).toEqual([null, null, null])
    expect(refusalOf('https://example.com:9000/', own)).toBe('port_not_allowed')
    const http = settingsOf({ WEBHOOK_ALLOW_HTTP: 'true' })
    expect([refusalOf('http://example.com/', http), refusalOf('http://example.com:81/', http)]).toEqual([
      null,
      'port_not_allowed',
    ])
  })

  test.each([',', 'https', '1-2-3', '443;80'])('WEBHOOK_ALLOWED_PORTS=%j is refused', (text) => {
    expect(() => settingsOf({ WEBHOOK_ALLOWED_PORTS: text })).toThrow(/^WEBHOOK_ALLOWED_PORTS: /)
  })
})

test('of a name with thousands of addresses 16 are tried', async () => {
  const addresses = Array.from({ length: 4000 }, (_, n) => ({ address: `192.0.2.${n % 256}`, family: 4 }))
  const lookup = guardedLookup(
    () => true,
    () => Promise.resolve(addresses),
  )
  const found = await new Promise((resolve) => lookup('many.example', { all: true }, (_error, all) => resolve(all)))
  expect(found).toHaveLength(16)
})
