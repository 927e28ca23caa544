import { Button, Group, Paper, Stack, Switch, Text, Title } from '@mantine/core'
import { useIsFetching } from '@tanstack/react-query'
import { type MouseEvent, useEffect, useRef } from 'react'

import { SettingsDocument, type SettingsQuery } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { PageFrame } from '../../ui/page.tsx'
import { useSectionOfHash } from '../../ui/section.tsx'
import { Answered, Problem } from '../../ui/states.tsx'
import { ClassifierSecret } from './classifier-secret.tsx'
import { type Values, valuesOf } from './draft.ts'
import { Exports } from './exports.tsx'
import { MailSecret } from './mail-secret.tsx'
import { Notices } from './notices.tsx'
import { SettingField } from './field.tsx'
import { useSettingsForm } from './form.ts'
import { Imports } from './imports.tsx'
import { LeaveUnsaved } from './leave.tsx'
import { SectionLinks } from './section-links.tsx'
import { SingleSignOn } from './single-sign-on.tsx'
import { NULLABLE_GROUPS, SECTIONS } from './table.ts'
import { TryText } from './try-text.tsx'

const POLL_MS = 5_000

export function Page() {
  const query = useApi(SettingsDocument, {}, { everyMs: POLL_MS })
  // Lists above a section move it when they load.
  useSectionOfHash(useIsFetching({ predicate: ({ state }) => state.status === 'pending' }) === 0)
  const reload = async (): Promise<Values> => {
    const { data, error } = await query.refetch()
    if (error !== null || data?.settings == null) throw error ?? new Error('The settings cannot be read.')
    return valuesOf(data.settings)
  }
  return (
    <PageFrame
      title="Settings"
      about="The service follows changes within seconds. Pages that are open show them, such as other reactions, when they are next loaded."
    >
      <div className="sectioned">
        <SectionLinks sections={linkedSections()} />
        <Stack>
          <Answered query={query} of="the settings">
            {({ settings }) =>
              settings != null && (
                <>
                  <Form settings={settings} reload={reload} />
                  {may('owner') && <SingleSignOn oidc={settings.staff.oidc} />}
                </>
              )
            }
          </Answered>
          <Notices />
          {may('admin') && (
            <>
              <Exports />
              <Imports />
            </>
          )}
        </Stack>
      </div>
    </PageFrame>
  )
}

const OF_OWNERS = [{ id: 'single-sign-on', title: 'Single sign-on' }]

const NOTICES = { id: 'notices', title: 'Notices to staff' }

const MOVING = [
  { id: 'export', title: 'Export' },
  { id: 'import', title: 'Import' },
]

/** Only an owner changes the settings of the members. */
const shownSections = () => SECTIONS.filter(({ id }) => id !== 'staff' || may('owner'))

const linkedSections = () => [
  ...shownSections(),
  ...(may('owner') ? OF_OWNERS : []),
  NOTICES,
  ...(may('admin') ? MOVING : []),
]

type Settings = NonNullable<SettingsQuery['settings']>

function Form({ settings, reload }: { settings: Settings; reload: () => Promise<Values> }) {
  const values = valuesOf(settings)
  const form = useSettingsForm(values, reload)
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void form.save()
      }}
    >
      <Stack>
        {shownSections().map((section) => (
          <Section key={section.id} section={section} form={form} values={values} />
        ))}
        <SaveBar form={form} />
      </Stack>
      <LeaveUnsaved isUnsaved={form.changed.length > 0} />
    </form>
  )
}

type FormState = ReturnType<typeof useSettingsForm>

function Section({
  section: { id, title, about, fields },
  form,
  values,
}: {
  section: (typeof SECTIONS)[number]
  form: FormState
  values: Values
}) {
  const toggled = NULLABLE_GROUPS.find((name) => fields.some(({ group }) => group === name))
  const isOn = toggled === undefined || form.valueOf(toggled) === true
  return (
    <Paper withBorder p="md" component="section" aria-labelledby={id}>
      <Stack gap="lg" maw={640}>
        <Stack gap={2}>
          <Title order={2} size="h4" id={id} tabIndex={-1} style={{ scrollMarginTop: 72 }}>
            {title}
          </Title>
          {about !== null && (
            <Text size="sm" c="dimmed">
              {about}
            </Text>
          )}
        </Stack>
        {toggled !== undefined && (
          <Switch
            label={`Use the ${toggled}`}
            checked={isOn}
            onChange={({ currentTarget }) => form.change(toggled, currentTarget.checked)}
          />
        )}
        {isOn &&
          fields.map((field) => (
            <SettingField
              key={field.path}
              field={field}
              value={form.valueOf(field.path)}
              isChanged={form.changed.includes(field.path)}
              error={form.errors[field.path] ?? null}
              theirs={form.conflicts.includes(field.path) ? { value: values[field.path] ?? null } : null}
              onChange={(value) => form.change(field.path, value)}
              onTakeTheirs={() => form.takeTheirs(field.path)}
              onKeepMine={() => form.keepMine(field.path)}
            />
          ))}
        {id === 'moderation' && <TryText valueOf={form.valueOf} />}
        {id === 'classifier' && <ClassifierSecret />}
        {id === 'guests' && <MailSecret />}
      </Stack>
    </Paper>
  )
}

/**
 * In view while there are changes, which may be anywhere on the page, and while it says what became
 * of them.
 */
function SaveBar({ form: { changed, conflicts, error, said, isSaving, discard } }: { form: FormState }) {
  const count = changed.length === 1 ? 'One change is not saved' : `${changed.length} changes are not saved`
  const words = useRef<HTMLOutputElement>(null)
  // A button that is disabled, or gone with the bar, would leave the focus to the page.
  const handFocusOn = ({ currentTarget }: MouseEvent): void => {
    if (currentTarget === document.activeElement) words.current?.focus({ preventScroll: true })
  }
  const isShown = changed.length > 0 || error !== null || said !== ''
  // It comes up over the field that was changed, if that was at the bottom of the window.
  useEffect(() => {
    if (isShown) document.activeElement?.scrollIntoView({ block: 'nearest' })
  }, [isShown])
  return (
    <Paper
      withBorder={isShown}
      p={isShown ? 'xs' : 0}
      {...(isShown && { className: 'save-bar' })}
      style={{ position: 'sticky', bottom: 8, zIndex: 10 }}
    >
      {error !== null && <Problem error={error} />}
      <Group justify="space-between">
        <Text size="sm" component="output" ref={words} tabIndex={-1}>
          {changed.length === 0 ? said : count}
          {conflicts.length > 0 && `; ${conflicts.length} of them also changed by somebody else`}
        </Text>
        {isShown && (
          <Group gap="xs">
            <Button
              variant="default"
              disabled={changed.length === 0}
              onClick={(event) => {
                handFocusOn(event)
                discard()
              }}
            >
              Discard
            </Button>
            <Button type="submit" loading={isSaving} disabled={changed.length === 0} onClick={handFocusOn}>
              Save
            </Button>
          </Group>
        )}
      </Group>
    </Paper>
  )
}
