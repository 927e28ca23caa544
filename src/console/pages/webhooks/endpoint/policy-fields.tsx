import { Button, Fieldset, NativeSelect, NumberInput, SimpleGrid, Stack } from '@mantine/core'
import { IconChevronDown, IconChevronRight } from '../../../ui/icons.tsx'

import { WebhookDefaultsDocument } from '../../../../generated/console.ts'
import { useApi } from '../../../api/queries.ts'
import { may } from '../../../api/session.ts'
import { POLICY, POLICY_CHOICES, POLICY_NAMES, type PolicyName } from './policy.ts'

const CHOICE_NAMES = ['schedule', 'ordered'] as const

/**
 * How deliveries to an endpoint are attempted. Folded, because the tenant's policy is right for
 * most.
 */
export function PolicyFields({
  isOpen,
  onOpen,
  propsOf,
}: {
  isOpen: boolean
  onOpen: (isOpen: boolean) => void
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
            {POLICY_NAMES.map((name) => (
              <NumberInput
                key={name}
                label={POLICY[name].label}
                description={POLICY[name].description}
                placeholder={defaults === undefined ? '' : `${defaults[name]} (the tenant's)`}
                allowDecimal={false}
                allowNegative={false}
                hideControls
                {...propsOf(name)}
              />
            ))}
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
