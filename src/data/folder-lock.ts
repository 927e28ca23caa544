import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import { SettingsError } from '../core/settings.ts'

// Why a native package: Node has no file locks, and everything built without one can go wrong. A
// file with a process number is stale after `kill -9`, names another process in another container,
// and its removal races. A socket in the folder leaves the same stale file. `flock` as a child
// process is not on every machine, and outlives its parent. fs-native-extensions ships its builds
// inside the package, runs no install script, and locks with fcntl(F_OFD_SETLK) on Linux, flock(2)
// on macOS and LockFileEx on Windows. The kernel drops these with the process, and knows the file
// itself: containers that share a volume see each other.
interface Locks {
  /** Locks `length` bytes from `offset`; 0 and 0: the whole file. Throws an error with a `code`. */
  tryLock(fd: number, offset: number, length: number, isExclusive: boolean): void
}

const HELD: ReadonlySet<unknown> = new Set(['EAGAIN', 'EACCES', 'EBUSY'])
const NAME = 'lock'

// A doctor that looks whether the lock is held has it for an instant: a start tries again before it
// gives up.
const TRIES = 5
const TRY_AGAIN_MS = 50

/**
 * Locks a data folder for this process, until the returned function is called or the process ends,
 * however it ends. The file stays: a process that has it open already would lock a removed one, and
 * the next process a new one. Throws a SettingsError that names DATA_DIR where another process has
 * it, or where it cannot be locked at all.
 */
export async function lockFolder(folder: string): Promise<() => void> {
  const locks = loadLocks()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // `a+` neither empties the file of another process nor needs it to be there.
  const fd = openSync(join(folder, NAME), 'a+', 0o600)
  try {
    for (let tries = 1; !tryLock(locks, folder, fd, true); tries++) {
      if (tries === TRIES) {
        throw new SettingsError(`DATA_DIR: ${folder} is in use by ${readHolder(folder)}: stop that one first`)
      }
      await setTimeout(TRY_AGAIN_MS)
    }
    ftruncateSync(fd)
    writeSync(fd, `process ${process.pid} on ${hostname()}`)
  } catch (error) {
    closeSync(fd)
    throw error
  }
  return () => closeSync(fd)
}

/**
 * The process that has locked the folder, in words; null where none has. Leaves everything as it
 * is.
 */
export function holderOf(folder: string): string | null {
  let fd: number
  try {
    fd = openSync(join(folder, NAME), 'r')
  } catch (error) {
    // Nothing was ever started there.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    return tryLock(loadLocks(), folder, fd, false) ? null : readHolder(folder)
  } finally {
    closeSync(fd)
  }
}

function tryLock(locks: Locks, folder: string, fd: number, isExclusive: boolean): boolean {
  try {
    locks.tryLock(fd, 0, 0, isExclusive)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (HELD.has(code)) return false
    throw new SettingsError(`DATA_DIR: ${folder} is on a file system without locks (${code ?? 'unknown'})`)
  }
}

/**
 * What the holder has written about itself. Only a hint: a process number counts in its own
 * container.
 */
function readHolder(folder: string): string {
  try {
    return readFileSync(join(folder, NAME), 'utf8') || 'another process'
  } catch {
    // Windows lets nobody else read what is locked.
    return 'another process'
  }
}

// By its file, not by the package's own loader: on Alpine that looks for a build for musl, which
// the package lacks. The one for glibc loads there too, because it needs nothing that musl does not
// have.
function loadLocks(): Locks {
  const require = createRequire(import.meta.url)
  const target = `${process.platform}-${process.arch}`
  const root = dirname(require.resolve('fs-native-extensions'))
  try {
    return require(join(root, 'prebuilds', target, 'fs-native-extensions.node')) as Locks
  } catch (cause) {
    throw new SettingsError(`DATA_DIR: it cannot be locked on ${target}: set DATABASE_URL instead`, { cause })
  }
}
