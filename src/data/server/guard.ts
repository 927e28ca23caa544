import type { Socket } from 'node:net'

const guarded = new WeakSet<Socket>()

/**
 * Closes the connection with the error where a driver throws while it reads what the server sent:
 * an answer of a form that it does not expect. Without this the error would end the process, and
 * the driver would go on in the middle of an answer.
 */
export function guardData(socket: Socket): void {
  if (guarded.has(socket)) return
  guarded.add(socket)
  const { emit } = socket
  const emitGuarded = (...args: unknown[]): boolean => {
    try {
      return Reflect.apply(emit, socket, args) as boolean
    } catch (error) {
      if (args[0] !== 'data') throw error
      socket.destroy(error instanceof Error ? error : new Error(String(error)))
      return true
    }
  }
  Object.assign(socket, { emit: emitGuarded })
}
