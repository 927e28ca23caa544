import { Anchor, Button, Card, Group, Input, SegmentedControl, SimpleGrid, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'

import { TeamDocument, type TeamQuery } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { HOLD_REASONS } from '../../ui/hold-reasons.ts'
import { IconDownload, IconX } from '../../ui/icons.tsx'
import { Day } from '../../ui/inputs/day.tsx'
import { useFilter, useSearch } from '../../ui/inputs/filters.ts'
import { saveFile } from '../../ui/inputs/save.ts'
import { DataTable } from '../../ui/list.tsx'
import { formatDuration, formatNumber, formatShare } from '../../ui/numbers.ts'
import { PageFrame } from '../../ui/page.tsx'
import { Section } from '../../ui/section.tsx'
import { Answered, Empty } from '../../ui/states.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { countOf, csvOf } from './csv.ts'
import { nameOf, sectionName } from './names.ts'
import { spanName, spanWords, utcMidnight } from './span.ts'

type Team = NonNullable<TeamQuery['analyticsTeam']>
type Decisions = Team['totals']

const BY = [
  { value: 'admin', label: 'Members' },
  { value: 'key', label: 'API keys' },
  { value: 'system', label: 'The service' },
] as const

export function Page() {
  const [from, setFrom] = useFilter('from')
  const [until, setUntil] = useFilter('until')
  const [chosen, setBy] = useFilter('by')
  const [params, change] = useSearch()
  // Empty for the front page, which other filters cannot be.
  const section = params.get('section')
  const setSection = (name: string | null): void =>
    change((now) => {
      if (name === null) now.delete('section')
      else now.set('section', name)
    })
  const by = BY.find(({ value }) => value === chosen)?.value ?? 'admin'
  const span = { from: utcMidnight(from, 0), to: utcMidnight(until, 1) }
  const query = useApi(TeamDocument, { ...span, section, by }, { everyMs: 60_000 })
  const team = query.data?.analyticsTeam ?? null
  return (
    <PageFrame
      title="Team"
      about="Who decided on how many comments, how long these waited, and how often the rules were right."
      actions={
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          disabled={team === null}
          onClick={() => team !== null && download(team)}
        >
          Download as CSV
        </Button>
      }
    >
      <Group align="flex-end" gap="sm">
        <Day label="From (UTC)" filter={{ value: from, set: setFrom }} />
        <Day label="Until (UTC)" filter={{ value: until, set: setUntil }} />
        <Input.Wrapper label="Decided by" labelElement="div">
          <SegmentedControl
            aria-label="Decided by"
            display="flex"
            data={BY.map((each) => ({ ...each }))}
            value={by}
            onChange={(value) => setBy(value === 'admin' ? null : value)}
          />
        </Input.Wrapper>
        {section !== null && (
          <Button
            variant="default"
            rightSection={<IconX size={16} aria-hidden />}
            aria-label={`Show all sections, not only ${sectionName(section)}`}
            onClick={() => setSection(null)}
          >
            {sectionName(section)}
          </Button>
        )}
      </Group>
      <Answered query={query} of="the decisions of the team">
        {({ analyticsTeam }) =>
          analyticsTeam != null && (
            <Figures team={analyticsTeam} by={by} onSection={section === null ? setSection : null} />
          )
        }
      </Answered>
    </PageFrame>
  )
}

/** The mark at its beginning tells spreadsheets that it is UTF-8. */
const download = (team: Team): void =>
  saveFile(`team-${spanName(team)}.csv`, new Blob(['\uFEFF', csvOf(team)], { type: 'text/csv;charset=utf-8' }))

function Figures({ team, by, onSection }: { team: Team; by: string } & OnSection) {
  const { totals, deciders, rules, sections } = team
  if (countOf(totals) === 0) {
    return (
      <Empty title={`No decisions, ${spanWords(team)}`}>
        A comment that is approved or rejected appears here. Choose another time, or others who decide.
      </Empty>
    )
  }
  const { p50Seconds, p90Seconds, longestSeconds } = totals.waits
  return (
    <>
      <Text size="sm" c="dimmed">
        {spanWords(team)}, days in UTC. A decision that was changed counts once. Waits are rounded.
      </Text>
      <SimpleGrid cols={{ base: 2, lg: 4 }} spacing="xs">
        <Tile label="Decisions" value={formatNumber(countOf(totals))} />
        <Tile label="Half waited at most" value={formatDuration(p50Seconds)} />
        <Tile label="9 of 10 waited at most" value={formatDuration(p90Seconds)} />
        <Tile label="The oldest waited" value={formatDuration(longestSeconds)} />
      </SimpleGrid>
      <Section title="Who decided">
        <Counts
          label="Who decided"
          rows={deciders
            .filter(({ kind }) => kind === by)
            .map((each) => ({
              key: each.id ?? each.kind,
              name: <span {...WRITTEN}>{nameOf(each)}</span>,
              decisions: each.decisions,
            }))}
        />
      </Section>
      {rules.length > 0 && <Rules rules={rules} />}
      {sections.length > 0 && (
        <Section title="Sections">
          <Counts
            label="Sections"
            rows={sections.map(({ section, decisions }) => ({
              key: String(section),
              name: <SectionName section={section} onSection={onSection} />,
              decisions,
            }))}
          />
        </Section>
      )}
    </>
  )
}

function Tile({ label, value }: { label: string; value: string }) {
  return (
    <Card withBorder padding="sm">
      <Text size="xl" fw={600}>
        {value}
      </Text>
      <Text size="sm">{label}</Text>
    </Card>
  )
}

interface OnSection {
  /** Null where a section is chosen. */
  onSection: ((section: string) => void) | null
}

function SectionName({ section, onSection }: { section: string | null } & OnSection) {
  const name = sectionName(section)
  if (section === null || onSection === null) return <span {...WRITTEN}>{name}</span>
  return (
    <Anchor
      component="button"
      type="button"
      size="sm"
      ta="start"
      {...WRITTEN}
      aria-label={`Only ${name}`}
      onClick={() => onSection(section)}
    >
      {name}
    </Anchor>
  )
}

const WAITS = ['Half waited', '9 of 10 waited', 'The oldest']
const COUNTS = ['Decisions', 'Approved', 'Rejected', 'Deleted', 'Reviewed', ...WAITS]

const numbers = (names: readonly string[]): ReactNode[] =>
  names.map((name) => (
    <Text key={name} span inherit display="block" ta="end">
      {name}
    </Text>
  ))

/** Decisions by who made them, or by section. */
function Counts({
  label,
  rows,
}: {
  label: string
  rows: readonly { key: string; name: ReactNode; decisions: Decisions }[]
}) {
  return (
    <DataTable label={label} head={['Name', ...numbers(COUNTS)]} minWidth={860}>
      {rows.map(({ key, ...row }) => (
        <CountsRow key={key} {...row} />
      ))}
    </DataTable>
  )
}

function CountsRow({ name, decisions }: { name: ReactNode; decisions: Decisions }) {
  const { approved, rejected, deleted, reviewed, waits } = decisions
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={400} miw={120} maw={240}>
        {name}
      </Table.Th>
      <Numbers of={[countOf(decisions), approved, rejected, deleted, reviewed].map(formatNumber)} />
      <Waits waits={waits} />
    </Table.Tr>
  )
}

function Rules({ rules }: { rules: Team['rules'] }) {
  return (
    <Section title="Rules">
      <Text size="sm" c="dimmed">
        A rule was right where a comment that it held or flagged was then rejected or deleted.
      </Text>
      <DataTable
        label="Rules"
        head={['Rule', ...numbers(['Decisions', 'Right', 'Wrong', 'Share right', ...WAITS])]}
        minWidth={860}
      >
        {rules.map(({ reason, right, wrong, waits }) => (
          <Table.Tr key={reason}>
            <Table.Th scope="row" fw={400} miw={120} maw={240}>
              {HOLD_REASONS[reason]}
            </Table.Th>
            <Numbers of={[...[right + wrong, right, wrong].map(formatNumber), formatShare(right / (right + wrong))]} />
            <Waits waits={waits} />
          </Table.Tr>
        ))}
      </DataTable>
    </Section>
  )
}

const Waits = ({ waits: { p50Seconds, p90Seconds, longestSeconds } }: { waits: Decisions['waits'] }) => (
  <Numbers of={[p50Seconds, p90Seconds, longestSeconds].map(formatDuration)} />
)

const Numbers = ({ of }: { of: readonly string[] }) =>
  of.map((each, index) => (
    <Table.Td key={index} ta="end" style={{ whiteSpace: 'nowrap' }}>
      {each}
    </Table.Td>
  ))
