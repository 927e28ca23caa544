import { expect, test } from 'vitest'

import { countCpu } from '../harness/cpu.ts'
import { useService } from '../harness/service.ts'

const service = useService()

async function attempt(body: string, settings: object): Promise<void> {
  await service.ok('POST', '/moderation/try', { body, settings })
}

test('POST /moderation/try takes hostile texts in a bounded time', async () => {
  for (const unit of ['a ', 'á', '東', '\u0301', 'https://a.example/ ', '🙂 ']) {
    const body = `x${unit.repeat(10_000 / Array.from(unit).length - 1)}`
    const micros = countCpu()
    await attempt(body, { suspectWords: ['a', '東', 'ex*', '🙂', 'example'], maxLinks: 0 })
    expect(micros() / 1000).toBeLessThan(2000)
  }
})
