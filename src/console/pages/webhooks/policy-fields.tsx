import { Button, Fieldset, NumberInput, type NumberInputProps, SimpleGrid, Stack } from '@mantine/core'
import { IconChevronDown, IconChevronRight } from '../../ui/icons.tsx'

import { WebhookDefaultsDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { POLICY, POLICY_NAMES, type PolicyName } from './policy.ts'

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
  propsOf: (name: PolicyName) => NumberInputProps
}) {
  const defaults = useApi(WebhookDefaultsDocument, {}).data?.settings?.webhookPolicy
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
          </SimpleGrid>
        </Fieldset>
      )}
    </Stack>
  )
}
