import { type App, type Ctx, perApp, requireCaller } from '../../core/context.ts'
import { type Id, isId } from '../../core/ids.ts'
import { type DiscussionKey, externalIdSchema, findDiscussionId } from '../discussions/discussions.ts'
import { selectVersions, type VersionKey } from './version-sql.ts'

/** Which state of a discussion a page of its comments shows. */
export interface PageVersion {
  discussionId: Id
  /**
   * Another one after every commit that may change a page: the discussion's seq, which each event increments, and the
   * number of profile changes in the tenant, which are no events and show in the authors of comments.
   */
  version: string
}

/** The version of a discussion's pages that is committed now; null where there is no such discussion. */
export async function findPageVersion(ctx: Ctx, { id, externalId }: DiscussionKey): Promise<PageVersion | null> {
  const isUsable = id == null ? externalIdSchema.safeParse(externalId).success : isId(id)
  if (!isUsable) return null
  const discussionId = id ?? (await findDiscussionId(ctx, externalId ?? ''))
  if (discussionId === null) return null
  const version = await versionReader(ctx.app).read({ tenantId: requireCaller(ctx).tenant.id, discussionId })
  return version === null ? null : { discussionId, version }
}

interface Waiting {
  key: VersionKey
  resolve: (version: string | null) => void
  reject: (error: unknown) => void
}

const MAX_BATCH = 500

/**
 * Looks the versions for all requests of the process up. One statement is under way at a time; who comes meanwhile waits
 * for the next one, for this one may have begun before a commit that they know of.
 */
class VersionReader {
  readonly #app: App
  #waiting: Waiting[] = []
  #isReading = false

  constructor(app: App) {
    this.#app = app
  }

  read(key: VersionKey): Promise<string | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject })
      if (!this.#isReading) void this.#drain()
    })
  }

  async #drain(): Promise<void> {
    this.#isReading = true
    while (this.#waiting.length > 0) await this.#lookUp(this.#waiting.splice(0, MAX_BATCH))
    this.#isReading = false
  }

  async #lookUp(batch: readonly Waiting[]): Promise<void> {
    try {
      const keys = new Map(batch.map(({ key }) => [textOf(key), key]))
      const rows = await selectVersions(this.#app.db.query, [...keys.values()])
      const versions = new Map(rows.map((row) => [textOf(row), `${row.seq}.${row.profileVersion}`]))
      for (const { key, resolve } of batch) resolve(versions.get(textOf(key)) ?? null)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}

const textOf = ({ tenantId, discussionId }: VersionKey): string => `${tenantId} ${discussionId}`

const versionReader = perApp((app) => new VersionReader(app))
