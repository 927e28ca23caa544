import { z } from 'zod'

import { doerOf, recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import { isAdmin } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch, ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import { type Page, type PageArgs, pageById } from '../../core/input/page.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { rowPerRequest } from '../../core/per-request.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { Note } from '../../generated/prisma/client.ts'
import { getComment } from '../comments/comments.ts'
import { lockComment } from '../comments/locked.ts'
import { getReader, lockReaderIn } from '../readers/records.ts'

export const MAX_NOTE_LENGTH = 2000

export const noteInput = z.object({ text: noNul(atMost(MAX_NOTE_LENGTH, z.string().trim().min(1))) })

/** What a note is about. One of both is given. */
interface NoteSubject {
  readerId?: Id | null | undefined
  commentId?: Id | null | undefined
}

/**
 * Writes a note on a reader or a comment, which only moderators see. Throws `validation_failed`,
 * `not_found`.
 */
export function createNote(ctx: Ctx, { on, text: given }: { on: NoteSubject; text: string }): Promise<Note> {
  const { text } = validate(noteInput, { text: given })
  const { tenantId, actor } = doerOf(ctx)
  return ctx.app.db.transaction(async (sql) => {
    const subject = on.readerId == null ? await lockedComment(sql, ctx, on.commentId) : await lockedReader(sql, ctx, on)
    const author = { actorKind: actor.kind, actorId: actor.id }
    const note = await sql.prisma.note.create({ data: { tenantId, id: newId(), ...subject, text, ...author } })
    await recordAudit(sql, ctx, { action: 'note.create', targetId: note.id, after: subject })
    return note
  })
}

/** Locked, so that an erasure of the reader sees the note. */
async function lockedReader(sql: TxSql, ctx: Ctx, { readerId }: NoteSubject): Promise<{ readerId: Id }> {
  const { id } = await lockReaderIn(sql, ctx, readerId ?? '')
  return { readerId: id }
}

async function lockedComment(sql: TxSql, ctx: Ctx, id: Id | null | undefined): Promise<{ commentId: Id }> {
  const { tenant } = requireCaller(ctx)
  const comment = id != null && isId(id) ? await lockComment(sql, tenant.id, id, new Date()) : undefined
  // Its author was erased, and with them all notes on it.
  const isErased = comment?.status === 'deleted' && comment.authorId === null
  if (comment === undefined || isErased) throw noSuch('comment')
  return { commentId: comment.id }
}

/**
 * The notes on a reader or a comment, newest first. Throws `not_found` for an unknown reader or
 * comment.
 */
export async function listNotes(ctx: Ctx, { on, ...args }: PageArgs & { on: NoteSubject }): Promise<Page<Note>> {
  const { tenant } = requireCaller(ctx)
  const subject =
    on.readerId == null
      ? { commentId: (await getComment(ctx, on.commentId ?? '')).id }
      : { readerId: (await getReader(ctx, on.readerId)).id }
  return pageById('notes', args, ({ where, ...query }) =>
    ctx.app.prisma.note.findMany({ ...query, where: { ...where, ...subject, tenantId: tenant.id } }),
  )
}

/** A note, or null. One statement serves all notes of a request. */
export const findNote = rowPerRequest<Note>((ctx, where) => ctx.app.prisma.note.findMany({ where }))

/**
 * Deletes a note: by the key or member that wrote it, or any owner or admin. Throws `not_found`,
 * `not_author`.
 */
export async function deleteNote(ctx: Ctx, { noteId }: { noteId: Id }): Promise<Id> {
  const { tenantId, actor } = doerOf(ctx)
  const mayAll = isAdmin(requireCaller(ctx).actor)
  await ctx.app.db.transaction(async (sql) => {
    const where = { tenantId_id: { tenantId, id: noteId } }
    const note = isId(noteId) ? await sql.prisma.note.findUnique({ where }) : null
    if (note === null) throw noSuch('note')
    const isAuthor = note.actorKind === actor.kind && note.actorId === actor.id
    if (!isAuthor && !mayAll) throw new ServiceError('not_author')
    const { count } = await sql.prisma.note.deleteMany({ where: { tenantId, id: noteId } })
    const { readerId, commentId } = note
    const before = readerId === null ? { commentId } : { readerId }
    if (count > 0) await recordAudit(sql, ctx, { action: 'note.delete', targetId: note.id, before })
  })
  return noteId
}

/** Those on a reader are on another one from now on. Both are locked. */
export const moveNotes = async ({ prisma }: TxSql, tenantId: Id, readerId: Id, intoId: Id): Promise<void> =>
  void (await prisma.note.updateMany({ where: { tenantId, readerId }, data: { readerId: intoId } }))
