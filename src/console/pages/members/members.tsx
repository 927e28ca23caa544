import { ActionIcon, Badge, Button, Menu, Table, Text, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'

import {
  DeleteMemberDocument,
  MembersDocument,
  type MembersQuery,
  RenewInvitationDocument,
  UpdateMemberDocument,
} from '../../../generated/console.ts'
import { useList, useWrite } from '../../api/queries.ts'
import { may, whoIsHere } from '../../api/session.ts'
import { IconDots, IconPlus } from '../../ui/icons.tsx'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { SecretOnce } from '../../ui/secret.tsx'
import { Problem } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { ChangeRole } from './change-role.tsx'
import { InviteMember } from './invite-member.tsx'

type Member = NonNullable<MembersQuery['members']>['nodes'][number]

const HEAD = [
  'Member',
  'Role',
  'State',
  'Second factor',
  'Last seen',
  <VisuallyHidden key="actions">Actions</VisuallyHidden>,
]

export function Page() {
  const list = useList(MembersDocument, { first: 50 }, ({ members }) => members, { everyMs: 10_000 })
  const [isInviting, setInviting] = useState(false)
  const [link, setLink] = useState<string | null>(null)
  const [change, setChange] = useState<{ of: Member; what: Change } | null>(null)
  const renew = useWrite(RenewInvitationDocument, [MembersDocument])
  const update = useWrite(UpdateMemberDocument, [MembersDocument])
  const remove = useWrite(DeleteMemberDocument, [MembersDocument])
  const error = renew.error ?? update.error
  return (
    <PageFrame
      title="Members"
      about="The people who sign in to this console, and what each may do."
      actions={
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setInviting(true)}>
          Invite a member
        </Button>
      }
    >
      {error !== null && <Problem error={error} />}
      <List list={list} of="members">
        {(members) => (
          <DataTable label="Members" head={HEAD}>
            {members.map((member) => (
              <MemberRow
                key={member.id}
                member={member}
                onState={(state) => update.mutate({ input: { id: member.id, state } })}
                onChange={(what) => setChange({ of: member, what })}
                onRenew={() =>
                  void renew
                    .mutateAsync({ input: { id: member.id } })
                    .then(({ renewInvitation }) => setLink(renewInvitation?.invitation.url ?? null))
                    .catch(() => undefined)
                }
              />
            ))}
          </DataTable>
        )}
      </List>
      {isInviting && (
        <InviteMember
          onClose={() => setInviting(false)}
          onInvited={(url) => {
            setInviting(false)
            setLink(url)
          }}
        />
      )}
      {link !== null && (
        <SecretOnce
          title="The link of the invitation"
          secret={link}
          warning="Send it to the person. It works once, for 72 hours, and is shown only now: whoever opens it becomes this member."
          onClose={() => setLink(null)}
        />
      )}
      {change?.what === 'role' && <ChangeRole member={change.of} onClose={() => setChange(null)} />}
      {change?.what === 'remove' && (
        <Confirm
          title={`Remove ${change.of.email}?`}
          action="Remove"
          onConfirm={() => remove.mutateAsync({ input: { id: change.of.id } })}
          onClose={() => setChange(null)}
        >
          They are signed out within a second. What they have done stays in the audit log.
        </Confirm>
      )}
    </PageFrame>
  )
}

type Change = 'role' | 'remove'

function MemberRow({
  member,
  onChange,
  onState,
  onRenew,
}: {
  member: Member
  onChange: (change: Change) => void
  onState: (state: 'active' | 'disabled') => void
  onRenew: () => void
}) {
  const { email, name, role, state } = member
  const isOwn = member.id === whoIsHere()
  const isFixed = role === 'owner' && !may('owner')
  return (
    <Table.Tr>
      <Table.Td miw={160} {...WRITTEN}>
        <Text size="sm">{name ?? email}</Text>
        {name !== null && (
          <Text size="xs" c="dimmed">
            {email}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{role}</Table.Td>
      <Table.Td>
        <Badge>{isOwn ? 'you' : state}</Badge>
      </Table.Td>
      <Table.Td>{member.twoFactor ? 'yes' : 'no'}</Table.Td>
      <Table.Td>{member.lastSeenAt === null ? 'never' : <Time at={member.lastSeenAt} />}</Table.Td>
      <Table.Td ta="end" className="row-action">
        {!isOwn && !isFixed && (
          <Menu>
            <Menu.Target>
              <ActionIcon variant="default" aria-label={`Actions on ${email}`}>
                <IconDots size={16} aria-hidden />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => onChange('role')}>Change the role</Menu.Item>
              {state === 'invited' && <Menu.Item onClick={onRenew}>Make a new link</Menu.Item>}
              <Menu.Item onClick={() => onState(state === 'disabled' ? 'active' : 'disabled')}>
                {state === 'disabled' ? 'Enable' : 'Disable'}
              </Menu.Item>
              <Menu.Item onClick={() => onChange('remove')}>Remove</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        )}
      </Table.Td>
    </Table.Tr>
  )
}
