import { Select, Text } from '@mantine/core'
import { useForm } from '@mantine/form'

import { MembersDocument, type Role, UpdateMemberDocument } from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { roleChoices } from './roles.ts'

const LABELS = { role: 'Role' }

export function ChangeRole({
  member: { id, email, role },
  onClose,
}: {
  member: { id: string; email: string; role: Role }
  onClose: () => void
}) {
  const update = useWrite(UpdateMemberDocument, [MembersDocument])
  const form = useForm({ initialValues: { role } })
  const send = async (values: typeof form.values): Promise<void> => {
    await update.mutateAsync({ input: { id, ...values } })
    onClose()
  }
  return (
    <Dialog title={`Role of ${email}`} onClose={onClose}>
      <Form form={form} labels={LABELS} send={send} action="Change the role" onCancel={onClose}>
        <Text size="sm">Another role signs them out within a second. They sign in again with the same password.</Text>
        <Select
          label={LABELS.role}
          data={roleChoices(may('owner'))}
          allowDeselect={false}
          data-autofocus
          {...form.getInputProps('role')}
        />
      </Form>
    </Dialog>
  )
}
