import type { RouteDefinition } from '../../graphql/route.ts'

const NAMES = { readers: 'Reader', comments: 'Comment' } as const

/** The notes on a reader or a comment. */
function notesOn(of: keyof typeof NAMES): RouteDefinition[] {
  const name = NAMES[of]
  const what = name.toLowerCase()
  const on = `${what}Id`
  return [
    {
      route: `POST /${of}/:${on}/notes`,
      summary: `Create a note on a ${what}`,
      operation: `mutation Create${name}Note($${on}: ID!, $text: String!) {
        createNote(input: { on: { ${on}: $${on} }, text: $text }) { note { ...NoteFields } }
      }`,
      status: 201,
    },
    {
      route: `GET /${of}/:${on}/notes`,
      summary: `List the notes on a ${what}`,
      operation: `query ${name}Notes($${on}: ID!, $first: Int, $after: String) {
        notes(on: { ${on}: $${on} }, first: $first, after: $after) { ...NoteConnectionFields }
      }`,
    },
  ]
}

export const routes: readonly RouteDefinition[] = [
  ...notesOn('readers'),
  ...notesOn('comments'),
  { route: 'DELETE /notes/:noteId', summary: 'Delete a note', field: 'deleteNote', status: 204 },
]
