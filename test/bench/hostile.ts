import { DOCUMENTS, VALUES } from '../harness/hostile-bodies.ts'
import { printTurns } from './figures.ts'
import { httpRequest } from './load.ts'
import { compare, type Side } from './measure.ts'
import { closing } from './scripts.ts'
import { startBenchService } from './service.ts'
import { sized } from './size.ts'

const HOW = { connections: 4, seconds: 0.4, rounds: sized(5, 1), warm: 1, mayFail: true }

const ofVariables = (value: string): string =>
  `{"query":"query ($ids: [ID!]!) { nodes(ids: $ids) { id } }","variables":{"ids":${value}}}`

/**
 * CPU of the api process for requests that it refuses, which are as large as they may be, beside
 * that of an ordinary one.
 */
export const benchHostile = (): Promise<void> =>
  closing(async (opened) => {
    const process = opened(await startBenchService())
    const headers = { 'content-type': 'application/json', 'x-api-key': process.apiKey }
    const post = (body: string): Buffer[] => [httpRequest('POST', '/graphql', headers, body)]
    const sides: Record<string, Side> = {
      'an ordinary refused request': { process, requests: post('{"query":"{ unknown }"}') },
    }
    for (const [name, query] of Object.entries(DOCUMENTS))
      sides[`document: ${name}`] = {
        process,
        requests: post(JSON.stringify({ query, operationName: 'Q0' })),
      }
    // After one that is nested too deep the service closes the connection, which costs more.
    const { 'a deep object': _, ...values } = VALUES
    for (const [name, value] of Object.entries(values))
      sides[`variables: ${name}`] = { process, requests: post(ofVariables(value)) }
    printTurns('hostile: requests that are refused', await compare(sides, HOW))
  })
