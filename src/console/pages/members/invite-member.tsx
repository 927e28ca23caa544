import { Select, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'

import { InviteMemberDocument, MembersDocument, type Role } from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { roleChoices } from './roles.ts'

const LABELS = { email: 'E-mail', name: 'Name', role: 'Role' }

export function InviteMember({ onInvited, onClose }: { onInvited: (url: string | null) => void; onClose: () => void }) {
  const invite = useWrite(InviteMemberDocument, [MembersDocument])
  const form = useForm<{ email: string; name: string; role: Role }>({
    initialValues: { email: '', name: '', role: 'moderator' },
  })
  const send = async ({ name, ...person }: typeof form.values): Promise<void> => {
    const { inviteMember } = await invite.mutateAsync({ input: { ...person, name: name.trim() === '' ? null : name } })
    onInvited(inviteMember?.invitation.url ?? null)
  }
  return (
    <Dialog onClose={onClose} title="Invite a member">
      <Form form={form} labels={LABELS} send={send} action="Make the link" onCancel={onClose}>
        <TextInput label={LABELS.email} type="email" required data-autofocus {...form.getInputProps('email')} />
        <TextInput
          label={LABELS.name}
          description="They can change it when they accept"
          maxLength={80}
          {...form.getInputProps('name')}
        />
        <Select
          label={LABELS.role}
          data={roleChoices(may('owner'))}
          allowDeselect={false}
          {...form.getInputProps('role')}
        />
      </Form>
    </Dialog>
  )
}
