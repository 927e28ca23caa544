import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import { SettingsError } from '../../core/settings/settings.ts'

// Why a native package: Node has no file locks, and every substitute fails. A file with a process
// number is stale after `kill -9`, names another process in another container, and its removal
// races. A socket in the folder becomes stale the same way. `flock` as a child process is not on
// every machine, and outlives its parent. fs-native-extensions ships its builds inside the
// package, runs no install script, and locks with fcntl(F_OFD_SETLK) on Linux, flock(2) on macOS
// and LockFileEx on Windows. The kernel drops these locks with the process, and they belong to the
// file itself: containers that share a volume see each other's.
interface Locks {
  /**
   * Locks `length` bytes from `offset` (0 and 0: the whole file). Throws an error with a `code`.
   */
  tryLock(fd: number, offset: number, length: number, isExclusive: boolean): void
}

const HELD: ReadonlySet<unknown> = new Set(['EAGAIN', 'EACCES', 'EBUSY'])
const NAME = 'lock'

// `doctor` holds the lock for an instant to test it, so a start tries several times.
const TRIES = 5
const TRY_AGAIN_MS = 50

/**
 * Locks a data folder for this process until the returned function is called or the process ends in
 * any way. The file stays: if it were removed, a process that has it open could lock the removed
 * file, and the next process a new one. Throws a SettingsError that names DATA_DIR if another
 * process has the lock, or if locking fails.
 */
export async function lockFolder(folder: string): Promise<() => void> {
  const locks = loadLocks()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // `a+` creates a missing file and does not empty an existing one.
  const fd = openSync(join(folder, NAME), 'a+', 0o600)
  try {
    for (let tries = 1; !tryLock(locks, folder, fd, true); tries++) {
      if (tries === TRIES) {
        throw new SettingsError(
          `DATA_DIR: ${folder} is in use by ${readHolder(folder)}: stop it, or set another folder`,
        )
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

/** Describes the process that has locked the folder; null if none has. Changes nothing. */
export function holderOf(folder: string): string | null {
  let fd: number
  try {
    fd = openSync(join(folder, NAME), 'r')
  } catch (error) {
    // No process was ever started there.
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
 * What the holder has written about itself. Only a hint: process numbers differ between containers.
 */
function readHolder(folder: string): string {
  try {
    return readFileSync(join(folder, NAME), 'utf8') || 'another process'
  } catch {
    // On Windows a locked file cannot be read.
    return 'another process'
  }
}

// Loads the file itself, not the package's loader: on Alpine that looks for a build for musl,
// which the package lacks. The build for glibc works there too, because it needs nothing that musl
// lacks.
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
