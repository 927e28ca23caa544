import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificates {
  /** The CA's certificate. */
  ca: string
  cert: string
  key: string
}

const DAY_MS = 86_400_000

/**
 * A CA of its own and a certificate of it for host names and v4 addresses, all as PEM; valid from
 * yesterday for `days`.
 */
export function makeCertificates(names: readonly string[], days = 2): Certificates {
  const caKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const isCa = extension('2.5.29.19', sequence(tagged(0x01, [0xff])), true)
  const mayBe = names.map((name) =>
    isIPv4(name) ? tagged(0x87, name.split('.').map(Number)) : tagged(0x82, Buffer.from(name)),
  )
  const subjectAltName = extension('2.5.29.17', sequence(...mayBe))
  const issue = (subject: string, publicKey: KeyObject, extensions: Buffer[]) =>
    certificate({ subject, publicKey, extensions, days, signingKey: caKeys.privateKey })
  return {
    ca: issue('Test CA', caKeys.publicKey, [isCa]),
    cert: issue('Test receiver', keys.publicKey, [subjectAltName]),
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** The settings for TLS of a service on 127.0.0.1. Their files are there until `remove`. */
export function makeTlsSettings() {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-tls-'))
  const { ca, cert, key } = makeCertificates(['127.0.0.1'])
  const env = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') }
  writeFileSync(env.TLS_CERT_FILE, cert)
  writeFileSync(env.TLS_KEY_FILE, key)
  return { ca, env, remove: () => rmSync(folder, { recursive: true }) }
}

interface CertificateFields {
  subject: string
  publicKey: KeyObject
  signingKey: KeyObject
  extensions: Buffer[]
  days: number
}

/** RFC 5280, section 4.1, in DER. */
function certificate({ subject, publicKey, signingKey, extensions, days }: CertificateFields): string {
  const now = Date.now()
  const toBeSigned = sequence(
    tagged(0xa0, tagged(0x02, [2])),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_SHA256,
    nameOf('Test CA'),
    sequence(utcTime(now - DAY_MS), utcTime(now - DAY_MS + days * DAY_MS)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', toBeSigned, signingKey)
  const der = sequence(toBeSigned, ECDSA_SHA256, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const lines = der.toString('base64').replace(/(.{64})/g, '$1\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

function tagged(tag: number, content: Uint8Array | readonly number[]): Buffer {
  const body = Buffer.from(content)
  const { length } = body
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, Buffer.concat(parts))

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const base128 = (value: number): number[] =>
    value < 128 ? [value] : [...base128(value >> 7).map((byte) => byte | 0x80), value & 0x7f]
  return tagged(0x06, [first * 40 + second, ...rest.flatMap(base128)])
}

const ECDSA_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'))

const nameOf = (commonName: string): Buffer =>
  sequence(tagged(0x31, sequence(objectId('2.5.4.3'), tagged(0x0c, Buffer.from(commonName)))))

const utcTime = (at: number): Buffer =>
  tagged(0x17, Buffer.from(`${new Date(at).toISOString().replace(/\D/g, '').slice(2, 14)}Z`))

const extension = (id: string, value: Uint8Array, critical = false): Buffer =>
  sequence(objectId(id), ...(critical ? [tagged(0x01, [0xff])] : []), tagged(0x04, value))
