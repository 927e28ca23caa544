import { newId } from '../../src/core/ids.ts'
import type { Headers, TestService } from './service.ts'

/** A reader whom the service knows, and how they act. */
export interface KnownReader {
  id: string
  externalId: string
  headers: Headers
}

export async function newReader(
  service: TestService,
  name = 'reader',
  profile: Record<string, unknown> = {},
): Promise<KnownReader> {
  const externalId = `${name}-${newId()}`
  const headers = await service.as(externalId, profile)
  const { json } = await service.call('GET', '/readers/me', { headers })
  return { id: json.id, externalId, headers }
}

/** A person whom nothing else in the database resembles. */
export interface Person {
  headers: Headers
  marks: readonly string[]
  /** A word in every text of theirs. */
  word: string
}

export async function newPerson(service: TestService): Promise<Person> {
  const tag = newId().replaceAll('-', '')
  const [externalId, name, word] = [`external-${tag}`, `Name ${tag}`, `word${tag}`]
  const urls = [`https://img.example/${tag}.png`, `https://people.example/${tag}`] as const
  const headers = await service.as(externalId, { name, avatarUrl: urls[0], profileUrl: urls[1] })
  return { headers, marks: [externalId, name, word, ...urls, tag], word }
}
