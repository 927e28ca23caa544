import { expect, test } from 'vitest'

import { joined } from '../../src/domains/staff/sign-on/provider.ts'

const [OWN, OTHER] = ['ada@example.com', 'eve@example.com']

test.each([
  ['both', { email: OWN, email_verified: true }, { email: OTHER, email_verified: false }, [OWN, true]],
  ['the address alone', { email: OWN }, { email: OTHER, email_verified: true }, [OTHER, true]],
  ['the address, which UserInfo has too', { email: OWN }, { email: OWN }, [OWN, undefined]],
  ['its verification alone', { email_verified: true }, { email: OTHER, email_verified: false }, [OTHER, false]],
  ['neither', {}, { email: OTHER, email_verified: true }, [OTHER, true]],
])('an ID token with %s: the address is the one that is said to be verified', (_name, token, info, expected) => {
  const { sub, email, email_verified: isVerified } = joined({ sub: 'ada', ...token }, { sub: 'ada', ...info })
  expect([sub, email, isVerified]).toEqual(['ada', ...expected])
})
