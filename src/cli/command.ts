import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { openApp } from '../app.ts'
import { type Command, defineCommand } from './command-line.ts'
import type { App } from '../core/app.ts'
import type { Id } from '../core/ids.ts'
import { createLog } from '../core/telemetry/log.ts'
import { readSettings } from '../core/settings/settings.ts'
import { embeddedSecrets } from '../data/embedded/secrets.ts'
import { expectOwnDatabase } from '../data/embedded/embedded.ts'
import { cannotOpen, expectService } from '../data/open.ts'
import { findTenantBySlug } from '../domains/tenants/tenants.ts'

/** The command is right, but cannot be done: one line, and exit status 1. */
export class CommandError extends Error {}

export const email = z.email('must be an e-mail address')
export const password = z.string().min(8, 'must have at least 8 characters')
export const ofTenant = z.string().describe('slug')

interface CommandOptions<Shape> {
  mayMakeDatabase?: boolean
  places?: readonly (keyof Shape & string)[]
}

/**
 * A command on an existing database, unless it may create one. If `run` returns a text, it is
 * printed; anything else is printed as JSON.
 */
export function command<Shape extends z.ZodRawShape>(
  about: string,
  shape: Shape,
  run: (app: App, options: z.output<z.ZodObject<Shape>>) => Promise<unknown>,
  { mayMakeDatabase = false, places = [] }: CommandOptions<Shape> = {},
): Command {
  const runOn = async (options: z.output<z.ZodObject<Shape>>): Promise<string> => {
    // First of all, so that secrets in a wrong DATA_DIR, or a lock, are not created.
    const settings = readSettings(process.env, (dataDir) => {
      expectOwnDatabase(dataDir, mayMakeDatabase)
      return embeddedSecrets(dataDir)
    })
    if (settings.DATABASE_URL === undefined) expectOwnDatabase(settings.DATA_DIR, mayMakeDatabase)
    const asUsual = (error: unknown): never => {
      throw cannotOpen(settings.DATABASE_URL === undefined ? 'DATA_DIR' : 'DATABASE_URL', error)
    }
    if (!mayMakeDatabase) await expectService(settings).catch(asUsual)
    const { app, close } = await openApp(settings, createLog('silent'), { sessionName: 'engagement-cli' }).catch(
      asUsual,
    )
    try {
      await busIsUp(app)
      const result = await run(app, options)
      return typeof result === 'string' ? result : JSON.stringify(result, null, 2)
    } finally {
      await close()
    }
  }
  return defineCommand(about, shape, runOn, places)
}

/** A command on the tenant that `--tenant` names. */
export const tenantCommand = <Shape extends z.ZodRawShape>(
  about: string,
  shape: Shape,
  run: (
    app: App,
    tenant: Named,
    options: z.output<z.ZodObject<{ tenant: typeof ofTenant } & Shape>>,
  ) => Promise<unknown>,
  more: CommandOptions<Shape> = {},
): Command =>
  command(
    about,
    { tenant: ofTenant, ...shape },
    async (app, options) => {
      const { tenant } = z.object({ tenant: ofTenant }).parse(options)
      return run(app, await tenantOf(app, tenant), options)
    },
    more,
  )

/**
 * Gives the bus a moment, so that other processes learn of a change at once; without it they do
 * within 5 s.
 */
async function busIsUp({ bus }: App): Promise<void> {
  for (let waitedMs = 0; waitedMs < 1000 && !bus.isUp(); waitedMs += 20) await setTimeout(20)
}

/** A tenant, as commands print it. */
export interface Named {
  id: Id
  slug: string
}

export async function tenantOf(app: App, slug: string): Promise<Named> {
  const tenant = await findTenantBySlug(app, slug)
  if (tenant === null) throw new CommandError(`there is no tenant ${slug}`)
  return tenant
}
