import { Select } from '@mantine/core'

import { ReaderDocument, type ReaderTrust, SetReaderTrustDocument } from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Problem } from '../../ui/states.tsx'

const CHOICES: readonly { value: ReaderTrust; label: string }[] = [
  { value: 'normal', label: 'Go by the rules' },
  { value: 'hold', label: 'All wait for a moderator' },
  { value: 'never_hold', label: 'None waits, whatever the rules say' },
]

/** Which rules hold the comments of a reader. A choice counts at once. */
export function Trust({ readerId, trust }: { readerId: string; trust: ReaderTrust }) {
  const write = useWrite(SetReaderTrustDocument, [ReaderDocument])
  const choose = (value: string | null): void => {
    const chosen = CHOICES.find((each) => each.value === value)
    if (chosen !== undefined) write.mutate({ input: { readerId, trust: chosen.value } })
  }
  return (
    <>
      <Select
        label="New comments"
        description="Banned words and bans count in any case. The reader is not told"
        data={CHOICES}
        value={write.isPending ? write.variables.input.trust : trust}
        onChange={choose}
        disabled={write.isPending}
        allowDeselect={false}
        maw={340}
      />
      {write.error !== null && <Problem error={write.error} />}
    </>
  )
}
