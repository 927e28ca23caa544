import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { DockerfileParser, type JSONInstruction } from 'dockerfile-ast'

import { findProgram } from './programs.ts'

export const DOCKERFILE = fileURLToPath(new URL('../../Dockerfile', import.meta.url))

/** What the Dockerfile says of the process of a container. */
export interface Image {
  user: string
  workdir: string
  env: Record<string, string>
  entrypoint: string[]
  healthcheck: string[]
}

export function readImage(): Image {
  const file = DockerfileParser.parse(readFileSync(DOCKERFILE, 'utf8'))
  // Of the last stage; the ones of the build come before.
  const last = (keyword: string) => file.getInstructions().findLast((each) => each.getKeyword() === keyword)
  const words = (keyword: string): string[] => (last(keyword)?.getArguments() ?? []).map((each) => each.getValue())
  const strings = (keyword: string): string[] =>
    ((last(keyword) as JSONInstruction | undefined)?.getJSONStrings() ?? []).map((each) => each.getJSONValue())
  return {
    user: words('USER').join(),
    workdir: words('WORKDIR').join(),
    env: Object.fromEntries(words('ENV').map((word) => word.split('=', 2) as [string, string])),
    entrypoint: strings('ENTRYPOINT'),
    healthcheck: JSON.parse(words('HEALTHCHECK').slice(1).join(' ')) as string[],
  }
}

/** Why no container can be imitated here; null where one can. */
export const NO_CONTAINER =
  process.getuid?.() === 0 && ['unshare', 'setpriv', 'mount'].every((name) => findProgram(name) !== undefined)
    ? null
    : 'needs root, unshare, setpriv and mount'

// The folder of the image is at /mnt, its volume at /media: nothing can be made in a root that is
// read-only.
const SCRIPT = `
  mount --bind "$TREE" /mnt
  mount -o remount,bind,ro /mnt
  mount -t tmpfs -o mode=700,uid=$OWNER,gid=$OWNER tmpfs /media
  mount -t tmpfs tmpfs /tmp
  mount -o remount,bind,ro /
  cd /mnt
  as="setpriv --reuid=$OWNER --regid=$OWNER --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
  for place in /mnt / /var/tmp; do if $as touch $place/file 2>/dev/null; then echo "$place is writable"; exit 90; fi; done
  unset TREE OWNER
  exec $as "$@"
`

/** The folder of the image at `/mnt`, and the volume at `/media`. */
const inside = (value: string): string => value.replace(/^\/service/, '/mnt').replace(/^\/data/, '/media')

export interface Container {
  stdout(): string
  stderr(): string
  /** SIGTERM to the first process of the container. Settles with its exit status. */
  stop(): Promise<number | null>
}

/**
 * Runs what the image runs, as its user, as process 1, without a capability, on a file system that
 * is read-only but for /tmp and the volume.
 */
export function runContainer(tree: string, { user, env: set, entrypoint }: Image, env: NodeJS.ProcessEnv): Container {
  const own = Object.fromEntries(Object.entries(set).map(([name, value]) => [name, inside(value)]))
  // A test that dies takes its containers along.
  const namespaces = '--pdeathsig KILL unshare --mount --mount-proc --pid --fork --kill-child'
  const child = spawn('setpriv', [...namespaces.split(' '), 'sh', '-ec', SCRIPT, 'sh', ...entrypoint], {
    env: { PATH: process.env.PATH, TREE: tree, OWNER: user.split(':')[0], ...own, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text))
  }
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    stop: async () => {
      const first = firstChild(child)
      if (first !== undefined) process.kill(first, 'SIGTERM')
      return exited
    },
  }
}

/** The process that is number 1 for itself. */
function firstChild({ pid = 0 }: ChildProcess): number | undefined {
  const isThere = readdirSync('/proc').includes(String(pid))
  const children = isThere ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim() : ''
  return children === '' ? undefined : Number(children.split(' ')[0])
}
