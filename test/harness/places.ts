import fc from 'fast-check'
import { expect } from 'vitest'

import { type Id, newId } from '../../src/core/ids.ts'
import type { Quota, StreamPlaces } from '../../src/core/stream-places.ts'

export const PER_TENANT = 6
export const TENANTS = [newId(), newId()]
/**
 * What a stream counts against beside its tenant: nothing, one name, or several that others share.
 */
export const NAMES = ['reader:a', 'ticket:b', 'address:c'] as const
const CAPS = { 'reader:a': 2, 'ticket:b': 3, 'address:c': 4 } as const
export const QUOTAS: readonly Quota[][] = [[], ['reader:a'], ['ticket:b'], ['reader:a', 'address:c'], NAMES].map(
  (names) => names.map((name) => ({ name, cap: CAPS[name as keyof typeof CAPS] })),
)

/** A stream as the model has it: by which process, of which tenant, under which names. */
export interface Held {
  process: number
  tenantId: Id
  quotas: readonly Quota[]
  giveBack: () => void
}

export type Command =
  | { kind: 'take'; process: number; tenant: number; quotas: readonly Quota[] }
  | { kind: 'release'; which: number }
  | { kind: 'kill'; process: number }
  | { kind: 'pause'; process: number }
  | { kind: 'flush' }

export const PROCESSES = 3
const takes = fc.record({
  kind: fc.constant('take' as const),
  process: fc.nat(PROCESSES - 1),
  tenant: fc.nat(TENANTS.length - 1),
  quotas: fc.constantFrom(...QUOTAS),
})
const releases = fc.record({ kind: fc.constant('release' as const), which: fc.nat() })
const faults = fc.oneof(
  fc.record({ kind: fc.constantFrom('kill' as const, 'pause' as const), process: fc.nat(PROCESSES - 1) }),
  fc.constant({ kind: 'flush' as const }),
)
export const commandsOf = (faultWeight: number) =>
  fc.array<Command>(
    fc.oneof(
      { weight: 12, arbitrary: takes },
      { weight: 6, arbitrary: releases },
      { weight: faultWeight, arbitrary: faults },
    ),
    { minLength: 10, maxLength: 40 },
  )

/**
 * The rule of docs/reference/choices/streams.md: whether there is room beside the streams that are
 * open.
 */
const hasRoom = (held: readonly Held[], tenantId: Id, quotas: readonly Quota[]): boolean => {
  const ofTenant = held.filter((one) => one.tenantId === tenantId)
  const ofName = (name: string) => ofTenant.filter((one) => one.quotas.some((quota) => quota.name === name))
  return ofTenant.length < PER_TENANT && quotas.every(({ name, cap }) => ofName(name).length < cap)
}

export async function take(
  places: StreamPlaces | undefined,
  held: Held[],
  { process, tenant, quotas }: Command & { kind: 'take' },
): Promise<void> {
  const tenantId = TENANTS[tenant] ?? ''
  const giveBack = await places?.take({ tenantId, perTenant: PER_TENANT, quotas })
  expect(giveBack !== null, 'whether it is let in').toBe(hasRoom(held, tenantId, quotas))
  if (giveBack != null) held.push({ process, tenantId, quotas, giveBack })
}

export function release(held: Held[], which: number): void {
  const [one] = held.splice(which % Math.max(1, held.length), 1)
  // A second call does nothing.
  one?.giveBack()
  one?.giveBack()
}
