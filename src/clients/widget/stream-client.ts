import type { Live } from './thread.ts'

/**
 * Loads the client of the stream, a file of its own, which comes while the comments do. Tries until
 * it is there: without it, comments can be read and written.
 */
export async function loadStreamClient(onError: (error: unknown) => void): Promise<Live> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await import('./stream.ts')
    } catch (error) {
      onError(error)
      await new Promise((resolve) => setTimeout(resolve, 1000 * 2 ** Math.min(attempt, 5)))
    }
  }
}
