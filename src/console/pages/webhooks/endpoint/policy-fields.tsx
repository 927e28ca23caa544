import { Button, Fieldset, NativeSelect, NumberInput, SimpleGrid, Stack } from '@mantine/core'
import { IconChevronDown, IconChevronRight } from '../../../ui/icons.tsx'

import { WebhookDefaultsDocument } from '../../../../generated/console.ts'
import { DurationInput } from '../../../ui/inputs/duration.tsx'
import { useApi } from '../../../api/queries.ts'
import { may } from '../../../api/session.ts'
import { POLICY, POLICY_CHOICES, POLICY_NAMES, type PolicyName, policyWords } from './policy.ts'

const CHOICE_NAMES = ['schedule', 'ordered'] as const

/**
 * How deliveries to an endpoint are attempted. Folded, because the tenant's policy is right for
 * most.
 */
export function PolicyFields({
  isOpen,
  onOpen,
  propsOf,
  valueOf,
  onChange,
}: {
  isOpen: boolean
  onOpen: (isOpen: boolean) => void
  valueOf: (name: PolicyName) => number | ''
  onChange: (name: PolicyName, value: number | '') => void
  /** The form's properties of an input. */
  propsOf: (name: PolicyName | keyof typeof POLICY_CHOICES) => object
}) {
  const defaults = useApi(WebhookDefaultsDocument, {}, { enabled: may('manage_settings') }).data?.settings
    ?.webhookPolicy
  return (
    <Stack gap="xs">
      <Button
        variant="subtle"
        size="compact-sm"
        aria-expanded={isOpen}
        leftSection={isOpen ? <IconChevronDown size={16} aria-hidden /> : <IconChevronRight size={16} aria-hidden />}
        onClick={() => onOpen(!isOpen)}
        style={{ alignSelf: 'flex-start' }}
      >
        Delivery policy
      </Button>
      {isOpen && (
        <Fieldset aria-label="Delivery policy">
          <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="sm">
            {POLICY_NAMES.map((name) => {
              const { label, description, unit, max } = POLICY[name]
              const placeholder = defaults === undefined ? '' : `${policyWords(name, defaults[name])} (the tenant's)`
              const common = { label, description, placeholder, ...propsOf(name) }
              return unit === null ? (
                <NumberInput key={name} allowDecimal={false} allowNegative={false} hideControls {...common} />
              ) : (
                <DurationInput
                  key={name}
                  unit={unit}
                  most={max}
                  usual={defaults?.[name]}
                  {...common}
                  value={valueOf(name)}
                  onChange={(value) => onChange(name, value)}
                />
              )
            })}
            {CHOICE_NAMES.map((name) => (
              <NativeSelect
                key={name}
                label={POLICY_CHOICES[name].label}
                data={[...POLICY_CHOICES[name].options]}
                {...propsOf(name)}
              />
            ))}
          </SimpleGrid>
        </Fieldset>
      )}
    </Stack>
  )
}
