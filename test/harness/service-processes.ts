import { afterAll, beforeAll } from 'vitest'

import { type Processes, startProcesses } from './processes.ts'

/** The processes of a file or of its part, from its first hook to its last. */
export function useProcesses(options?: Parameters<typeof startProcesses>[0]): Processes {
  const service = {} as Processes
  beforeAll(async () => {
    Object.assign(service, await startProcesses(options))
  })
  afterAll(() => service.close())
  return service
}
