import { afterAll, beforeAll } from 'vitest'

import { type Processes, startProcesses } from './processes.ts'
import { type Receiver, startReceiver } from './receiver.ts'

type Deployment = Parameters<typeof startProcesses>[0]

/** The processes of a file or of its part, from its first hook to its last. */
export function useProcesses(options?: Deployment): Processes {
  const service = {} as Processes
  beforeAll(async () => {
    Object.assign(service, await startProcesses(options))
  })
  afterAll(() => service.close())
  return service
}

/** The processes of a file or of its part, and a receiver of their webhooks. */
export function useReceiverOfProcesses({ env, ...options }: NonNullable<Deployment> = {}) {
  const receiver = {} as Receiver
  const service = {} as Processes
  beforeAll(async () => {
    Object.assign(receiver, await startReceiver())
  })
  afterAll(() => receiver.close())
  beforeAll(async () => {
    Object.assign(service, await startProcesses({ ...options, env: { WEBHOOK_CA_FILE: receiver.caFile, ...env } }))
  })
  afterAll(() => service.close())
  return { receiver, service }
}
