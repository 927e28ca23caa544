import { describe, expect, test } from 'vitest'

import { createAddressRule } from '../../src/domains/webhooks/rules/addresses.ts'

const isAllowed = createAddressRule([])

describe('an address of the public internet is allowed', () => {
  test.each(['8.8.8.8', '1.1.1.1', '93.184.216.34', '2606:4700:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8'])(
    '%s',
    (address) => {
      expect(isAllowed(address)).toBe(true)
    },
  )
})

describe('every other address is refused', () => {
  test.each([
    ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
    ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
    ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1']],
    ['link-local', ['169.254.0.1', 'fe80::1', 'febf::1']],
    ['metadata', ['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '168.63.129.16', '192.0.0.192']],
    ['shared (CGNAT)', ['100.64.0.1', '100.127.255.255']],
    ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1']],
    ['broadcast and reserved', ['255.255.255.255', '240.0.0.1', '192.88.99.1', '192.0.0.8']],
    ['benchmarking', ['198.18.0.1', '198.19.255.255', '2001:2::1']],
    ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
    ['v4-mapped', ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:169.254.169.254', '::ffff:7f00:1']],
    ['v4-compatible', ['::127.0.0.1', '::10.0.0.1']],
    ['v4-translated', ['::ffff:0:127.0.0.1']],
    ['6to4', ['2002:7f00:1::', '2002:0a00:1::1']],
    ['NAT64', ['64:ff9b::7f00:1', '64:ff9b:1::1']],
    ['Teredo', ['2001:0:7f00:1::1']],
    ['site-local', ['fec0::1']],
    ['discard', ['100::1']],
    ['no address at all', ['', 'localhost', '127.1.1.1.1', '1.2.3.4/8']],
  ])('%s', (_name, addresses) => {
    for (const address of addresses) expect([address, isAllowed(address)]).toEqual([address, false])
  })
})

describe('WEBHOOK_ALLOWED_CIDRS', () => {
  test('allows the named ranges and nothing else', () => {
    const opened = createAddressRule(['127.0.0.0/8', 'fd00::/8'])
    expect(['127.0.0.1', '::ffff:127.0.0.1', 'fd12::1', '8.8.8.8'].map(opened)).toEqual([true, true, true, true])
    expect(['10.0.0.1', '::1', '169.254.169.254'].map(opened)).toEqual([false, false, false])
  })
})
