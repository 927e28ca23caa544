import type { App } from '../../core/app.ts'
import type { Sql } from '../../core/database/database.ts'
import { HAND_OUT_MS } from './requests.ts'
import * as rows from './sql.ts'

export type DueMail = rows.DueMail

type Lease = Omit<Parameters<typeof rows.leaseMails>[1], 'since'>

/** Leases mails that are due, and not too old. */
export const leaseMails = (sql: Sql, lease: Lease, now = new Date()): Promise<rows.DueMail[]> =>
  rows.leaseMails(sql, { ...lease, since: new Date(now.getTime() - HAND_OUT_MS) })

const FIRST_RETRY_MS = 5000
const MAX_RETRY_MS = 300_000

/** Milliseconds until the next attempt, after `attempts` failed ones. */
export const retryInMs = (attempts: number): number => Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempts - 1))

/** The mail is handed out, or cannot be: its address is forgotten. */
export const endMail = ({ prisma }: App, { tenantId, id }: Pick<rows.DueMail, 'tenantId' | 'id'>): Promise<unknown> =>
  prisma.guestRequest.updateMany({ where: { tenantId, id }, data: { sealed: null } })

/** Has a mail handed out again, `inMs` from now. */
export const deferMail = (
  { prisma }: App,
  { tenantId, id }: Pick<rows.DueMail, 'tenantId' | 'id'>,
  inMs: number,
): Promise<unknown> =>
  prisma.guestRequest.updateMany({ where: { tenantId, id }, data: { dueAt: new Date(Date.now() + inMs) } })
