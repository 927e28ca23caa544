import type { Bus } from '../../core/bus.ts'

/** The bus of a process that is alone. It delivers in a later turn, as a network would. */
export function createMemoryBus(): Bus {
  const channels = new Map<string, Set<(message: string) => void>>()
  return {
    publish(channel, message) {
      queueMicrotask(() => {
        for (const listener of channels.get(channel) ?? []) listener(message)
      })
    },
    subscribe(channel, listener) {
      const listeners = channels.get(channel) ?? new Set()
      channels.set(channel, listeners.add(listener))
      return Promise.resolve(() => {
        listeners.delete(listener)
        if (listeners.size === 0 && channels.get(channel) === listeners) channels.delete(channel)
      })
    },
    onGap: () => () => undefined,
    isUp: () => true,
    close: () => Promise.resolve(channels.clear()),
  }
}
