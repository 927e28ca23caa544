import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The command of a container engine (`docker`, `podman`), for `npm run test:containers`. */
export const ENGINE = process.env.CONTAINER_ENGINE ?? ''

/** Gives what a command of the engine says, run in this clone. Throws with its complaint. */
export async function engine(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(ENGINE, args, { cwd: ROOT, maxBuffer: 256 * 1024 * 1024 })
  return stdout.trim()
}

/** What the engine knows of a container or an image. */
// Tests look into any of it; a wrong path fails the assertion it stands in.
// oxlint-disable-next-line typescript/no-explicit-any
export const inspect = async (name: string): Promise<any> => (JSON.parse(await engine('inspect', name)) as unknown[])[0]

/** SIGKILL to the first process of a container. After `docker kill` no engine starts it again. */
export async function crash(container: string, image: string): Promise<void> {
  const { Pid } = (await inspect(container)).State as { Pid: number }
  const asRoot = ['--privileged', '--pid', 'host', '--user', '0', '--entrypoint', 'sh']
  await engine('run', '--rm', ...asRoot, image, '-c', `kill -9 ${Pid}`)
}
